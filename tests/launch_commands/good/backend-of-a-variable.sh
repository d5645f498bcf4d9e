sglang serve --model-path org/target --speculative-algorithm DFLASH --speculative-draft-model-path org/draft --speculative-draft-attention-backend $BACKEND --kv-cache-dtype $KV
