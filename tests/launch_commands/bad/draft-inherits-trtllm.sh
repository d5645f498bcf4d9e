sglang serve --model-path org/target --speculative-algorithm DFLASH --speculative-draft-model-path org/draft \
  --attention-backend trtllm_mla
