vllm serve org/target -tp 8 --max-num-seqs 16 \
  --speculative-config '{"method": "dflash", "model": "org/draft-dflash", "num_speculative_tokens": 7}'
