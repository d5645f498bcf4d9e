sglang serve --model-path org/target --speculative-algorithm DSPARK --speculative-draft-model-path org/draft \
  --speculative-dspark-block-size 7 --speculative-num-draft-tokens 7
