import { expect, it } from "vitest";
import { modelInPath } from "../../../src/gateways/providers/model-in-path.ts";

it.each([
	["google-ai-studio", "v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse", "gemini-3-flash"],
	["google-ai-studio", "/v1/models/gemini-3-flash", "gemini-3-flash"],
	["google-ai-studio", "v1beta/models", undefined],
	["google-ai-studio", "v1beta/files/models/a:b", undefined],
	[
		"google-vertex-ai",
		"v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict",
		"claude-sonnet-4-5@20250929",
	],
	[
		"aws-bedrock",
		"bedrock-runtime/us-east-1/model/us.amazon.nova-lite-v1%3A0/converse",
		"us.amazon.nova-lite-v1:0",
	],
	["aws-bedrock", "bedrock-runtime/us-east-1/model/%ZZ/invoke", "%ZZ"],
	["aws-bedrock", "bedrock-mantle/us-east-1/anthropic/v1/messages", undefined],
	["azure-openai", "resource/my-gpt/chat/completions?api-version=2024-06-01", "my-gpt"],
	["openai", "v1/models/gpt-5", undefined],
	["__proto__", "models/x", undefined],
])("%s/%s names the model %j", (provider, endpoint, model) => {
	expect(modelInPath(provider, endpoint)).toBe(model);
});
