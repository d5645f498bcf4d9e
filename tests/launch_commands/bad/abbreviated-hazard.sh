sglang serve --model-path org/target --speculative-algorithm DFLASH --speculative-draft-model-path org/draft --speculative-draft-attention-backend fa4 \
  --kv-cache fp8_e4m3
