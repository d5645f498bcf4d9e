sudo docker run --entrypoint python3 lmsysorg/sglang:v0.5.23 -m sglang.launch_server --model-path org/target
