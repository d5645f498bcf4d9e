vllm serve org/target \
  --speculative-model org/draft \
  --num-speculative-tokens 7
