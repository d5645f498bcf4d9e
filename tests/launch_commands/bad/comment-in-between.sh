sglang serve --model-path org/target \
  # two GPUs
  --tp-size 2
