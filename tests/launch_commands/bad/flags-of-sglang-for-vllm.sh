vllm serve org/target \
  --tp-size 2 \
  --mem-fraction-static 0.8
