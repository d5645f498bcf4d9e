vllm serve org/target \
  --speculative-config {method: dflash}
