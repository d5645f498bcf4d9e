sglang serve --model-path org/target --speculative-algorithm DFLASH --speculative-draft-model-path org/draft \
  --speculative-dflash-draft-window-size 512 --cuda-graph-max-bs 64
