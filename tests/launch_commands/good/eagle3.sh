sglang serve --model-path org/target \
  --speculative-algorithm EAGLE3 --speculative-draft-model-path org/eagle3 \
  --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4
