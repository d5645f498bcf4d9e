python -m sglang.launch_server --model-path org/target --attention-backend cutlass_mla
