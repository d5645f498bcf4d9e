python3 -m vllm.entrypoints.openai.api_server --model org/target --port 8000
