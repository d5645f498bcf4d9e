vllm serve org/target --speculative-config.method dflash --speculative-config.model org/draft --speculative-config.num_speculative_tokens 7
