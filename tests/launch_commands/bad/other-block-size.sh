sglang serve --model-path org/target --speculative-algorithm DFLASH --speculative-draft-model-path org/draft \
  --speculative-dflash-block-size 16 \
  --tp-size 3
