sglang serve --model-path org/target \
  --speculative-algorithm DFLASH
