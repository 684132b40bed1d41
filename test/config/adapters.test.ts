import { expect, it } from "vitest";
import { configure } from "../../src/config/index.ts";

const MODEL = "@cf/mistral/mistral-7b-instruct-v0.2-lora";
const configured = (adapters: object, kind = "openai") =>
	configure({
		BACKENDS: { gpus: { kind, url: "http://gpu:8000/v1", adapters } },
		ROUTES: { [MODEL]: [{ backend: "gpus" }] },
	}).routing.find(MODEL)?.targets[0]?.adapters;

it.each([
	[
		{ engine: "vllm", folder: "/srv/a" },
		{ engine: "vllm", folder: "/srv/a", seenAs: "/srv/a", maxLoaded: 16 },
	],
	[
		{ engine: "sglang", folder: "/srv/a", seen_as: "/b", max_loaded: 2 },
		{ engine: "sglang", folder: "/srv/a", seenAs: "/b", maxLoaded: 2 },
	],
	[{ engine: "vllm-resolver" }, { engine: "vllm-resolver", seenAs: "", maxLoaded: 16 }],
	[{ engine: "llama.cpp" }, { engine: "llama.cpp", seenAs: "", maxLoaded: 16 }],
])("reads %j", (setting, expected) => {
	expect(configured(setting)).toEqual(expected);
});

it.each([
	[
		{},
		/BACKENDS\.gpus\.adapters\.engine: expected "vllm", "vllm-resolver", "sglang" or "llama\.cpp", found nothing/,
	],
	[{ engine: "vllm" }, /BACKENDS\.gpus\.adapters: expected folder or seen_as, found neither/],
	[
		{ engine: "sglang", folder: "adapters" },
		/adapters\.folder: expected an absolute path without a "\/" at its end, found another text/,
	],
	[{ engine: "sglang", seen_as: "/adapters/" }, /adapters\.seen_as: expected an absolute path/],
	[{ engine: "llama.cpp", folder: "/a" }, /expected no folder beside the engine "llama\.cpp"/],
	[{ engine: "vllm", folder: "/a", max_loaded: 0 }, /adapters\.max_loaded/],
	[{ engine: "vllm", folder: "/a", path: "/b" }, /adapters\.path/],
])("refuses %j", (setting, message) => {
	expect(() => configured(setting)).toThrowError(message);
});

it("is only for engines with OpenAI's API", () => {
	expect(() => configured({ engine: "vllm", folder: "/a" }, "ollama")).toThrowError(
		/BACKENDS\.gpus\.adapters: expected a backend of kind "openai" beside it, found one of kind "ollama"/,
	);
});
