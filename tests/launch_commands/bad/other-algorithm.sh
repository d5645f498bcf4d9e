sglang serve --model-path org/target --speculative-draft-model-path org/draft \
  --speculative-algorithm EAGLE3
