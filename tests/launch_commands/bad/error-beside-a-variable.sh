sglang serve --model-path org/target --speculative-algorithm DFLASH $ARGS \
  --pp-size 2
