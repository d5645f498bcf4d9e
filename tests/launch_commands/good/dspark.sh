sglang serve --model-path org/target --speculative-algorithm DSPARK --speculative-draft-model-path org/dspark
