import { describe, expect, it } from "vitest";
import { keyHeaderOf, providerUrl, urlBelow } from "../../../src/gateways/providers/addresses.ts";

describe("the address of an endpoint", () => {
	it.each([
		["openai", "chat/completions", "https://api.openai.com/v1/chat/completions"],
		["openai", "v1/chat/completions", "https://api.openai.com/v1/chat/completions"],
		["openai", "/files?limit=2&after=a%2Fb", "https://api.openai.com/v1/files?limit=2&after=a%2Fb"],
		["anthropic", "v1/messages", "https://api.anthropic.com/v1/messages"],
		["anthropic", "messages/batches", "https://api.anthropic.com/v1/messages/batches"],
		[
			"google-ai-studio",
			"v1beta/models/gemini-3-flash:embedContent",
			"https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash:embedContent",
		],
		["groq", "chat/completions", "https://api.groq.com/openai/v1/chat/completions"],
		["groq", "openai/v1/models", "https://api.groq.com/openai/v1/models"],
		["openrouter", "v1/chat/completions", "https://openrouter.ai/api/v1/chat/completions"],
		["cohere", "v2/chat", "https://api.cohere.ai/v2/chat"],
		["deepseek", "chat/completions", "https://api.deepseek.com/chat/completions"],
		["huggingface", "org/model", "https://api-inference.huggingface.co/models/org/model"],
		[
			"google-vertex-ai",
			"v1/projects/p/locations/us-east1/publishers/google/models/m:predict",
			"https://us-east1-aiplatform.googleapis.com/v1/projects/p/locations/us-east1/publishers/google/models/m:predict",
		],
		[
			"google-vertex-ai",
			"v1/projects/p/locations/global/endpoints",
			"https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints",
		],
		[
			"google-vertex-ai",
			"v1beta1/projects/p/locations/eu/publishers/anthropic/models/m:rawPredict",
			"https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p/locations/eu/publishers/anthropic/models/m:rawPredict",
		],
		[
			"google-vertex-ai",
			"v1/projects/p/locations/us/publishers/google/models/m:countTokens",
			"https://aiplatform.us.rep.googleapis.com/v1/projects/p/locations/us/publishers/google/models/m:countTokens",
		],
		[
			"aws-bedrock",
			"bedrock-runtime/us-east-1/model/m/invoke",
			"https://bedrock-runtime.us-east-1.amazonaws.com/model/m/invoke",
		],
		[
			"azure-openai",
			"my-resource/gpt-5/chat/completions?api-version=2025-01-01",
			"https://my-resource.openai.azure.com/openai/deployments/gpt-5/chat/completions?api-version=2025-01-01",
		],
		["baseten", "model/abc123/production/predict", "https://model-abc123.api.baseten.co/production/predict"],
		["baseten", "v1/chat/completions", "https://inference.baseten.co/v1/chat/completions"],
	])("%s/%s", (slug, endpoint, url) => {
		expect(providerUrl(slug, endpoint).href).toBe(url);
	});

	it.each([
		["openai", "../../admin"],
		["groq", "../v2/other"],
		["huggingface", "%2e%2e/api/whoami"],
		["huggingface", "..\\api"],
		["aws-bedrock", "bedrock-runtime/evil.example/model"],
		["aws-bedrock", "bedrock-runtime/us-east-1@evil/x"],
		["aws-bedrock", "s3/us-east-1/bucket"],
		["azure-openai", "evil.example#/dep/x"],
		["azure-openai", "res/../x/chat"],
		["google-vertex-ai", "v1/projects/p/locations/evil.example%2f/x"],
		["google-vertex-ai", "v1/models"],
		["toString", "x"],
		["no-such-provider", "x"],
	])("refuses %s/%s", (slug, endpoint) => {
		expect(() => providerUrl(slug, endpoint)).toThrow("2008");
	});

	it("keeps hosts of other providers in the path", () => {
		for (const endpoint of ["//evil.example/x", "/\\evil.example", "@evil.example/", "https://evil.example/"])
			expect(providerUrl("deepseek", endpoint).origin).toBe("https://api.deepseek.com");
	});
});

it("appends the path to the address of a custom provider", () => {
	expect(urlBelow("https://ai.example.com/base/v1", "v2/chat?x=1").href).toBe(
		"https://ai.example.com/base/v1/v2/chat?x=1",
	);
	expect(() => urlBelow("https://ai.example.com/base", "../secret")).toThrow("2008");
	expect(() => urlBelow("https://ai.example.com/base", "%2E%2E/secret")).toThrow("2008");
});

it.each([
	["anthropic", { name: "x-api-key" }],
	["google-ai-studio", { name: "x-goog-api-key" }],
	["azure-openai", { name: "api-key" }],
	["deepgram", { name: "authorization", scheme: "Token" }],
	["openai", { name: "authorization", scheme: "Bearer" }],
	["custom-mine", { name: "authorization", scheme: "Bearer" }],
])("the key of %s", (slug, header) => {
	expect(keyHeaderOf(slug)).toEqual(header);
});

it.each([
	["bedrock-runtime/us-east-1/model/m/invoke", "authorization"],
	["bedrock-mantle/us-east-1/openai/v1/responses", "authorization"],
	["bedrock-mantle/us-east-1/anthropic/v1/messages", "x-api-key"],
])("the key of aws-bedrock at %s is in %s", (endpoint, name) => {
	expect(keyHeaderOf("aws-bedrock", endpoint).name).toBe(name);
});

it.each([
	["azure-openai", "chat/completions", "azure-openai expects the path {resource}/{deployment}/…"],
	[
		"aws-bedrock",
		"model/x/invoke",
		"aws-bedrock expects the path bedrock-runtime/{region}/… or bedrock-mantle/{region}/…",
	],
	[
		"google-vertex-ai",
		"v1/models/x",
		"google-vertex-ai expects the path v1/projects/{project}/locations/{region}/…",
	],
	["fal", "https://example.com/x", "fal expects an address of fal.run or fal.ai in x-fal-target-url"],
])("the refusal of another path of %s has the form that it expects", (slug, endpoint, message) => {
	expect(() => providerUrl(slug, endpoint)).toThrow(`2008: Invalid provider: ${message}`);
});
