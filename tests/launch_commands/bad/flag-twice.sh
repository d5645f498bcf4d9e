sglang serve --model-path org/target --tp-size 8 \
  --tensor-parallel-size 4
