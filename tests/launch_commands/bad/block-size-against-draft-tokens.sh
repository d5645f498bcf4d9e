python -m sglang.launch_server --model-path org/target --speculative-algorithm DFLASH --speculative-draft-model-path org/draft \
  --speculative-dflash-block-size 16 --speculative-num-draft-tokens 8
