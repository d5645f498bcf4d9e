sglang serve --model-path org/target --speculative-algorithm EAGLE3 --speculative-draft-model-path org/eagle3 \
  --speculative-eagle-topk 4
