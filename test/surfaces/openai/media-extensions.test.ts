/** Options of media requests that only some hosts know: they reach these hosts, and the answer names them for the others. */
import { describe, expect, it } from "vitest";
import { base64, latin1, png } from "../../dialects/samples.ts";
import { testGateway, upstream } from "../../gateway.ts";

const SPEECH = "gpt-4o-mini-tts";
const TRANSCRIPTION = "gpt-4o-transcribe";
const IMAGE = "gpt-image-1.5";

function gateway(url: string, reply: () => Response, kind = "openai") {
	const { fetch, requests } = upstream(reply);
	const { app, post } = testGateway({
		vars: {
			BACKENDS: { engine: kind === "openai" ? { kind, url } : { kind } },
			ROUTES: Object.fromEntries([SPEECH, TRANSCRIPTION, IMAGE].map((id) => [id, [{ backend: "engine" }]])),
			MODELS: {
				[SPEECH]: { task: "Text-to-Speech" },
				[TRANSCRIPTION]: { task: "Automatic Speech Recognition" },
				[IMAGE]: { task: "Text-to-Image" },
			},
		},
		fetch,
	});
	const postForm = (path: string, fields: readonly (readonly [string, string | Blob])[]) => {
		const form = new FormData();
		for (const [name, value] of fields) form.append(name, value);
		return app.request(`http://gateway/client/v4/accounts/local/ai${path}`, { method: "POST", body: form });
	};
	return { post, postForm, requests };
}

const PNG = png(64, 64);
const image = () => Response.json({ data: [{ b64_json: base64(PNG) }] });
const transcript = () => Response.json({ text: "Hello", segments: [] });
const mp3 = () => new Response(latin1("\xff\xfb\x90\x64"));

const OPENAI = "https://api.openai.com/v1";
const ENGINE = "http://gpu/v1";

describe("speech", () => {
	const sent = { instructions: "Speak calmly.", exaggeration: 0.7 };

	it.each([
		[OPENAI, { instructions: "Speak calmly." }, "exaggeration"],
		[ENGINE, sent, null],
		["https://openrouter.ai/api/v1", { instructions: "Speak calmly." }, "exaggeration"],
		["https://api.groq.com/openai/v1", {}, "instructions, exaggeration"],
	])("%s gets %j", async (url, expected, dropped) => {
		const { post, requests } = gateway(url, mp3);
		const body = { model: SPEECH, input: "Hello", voice: "coral" };
		const response = await post("/v1/audio/speech", { ...body, ...sent });
		expect([response.status, response.headers.get("x-ganglion-dropped")]).toEqual([200, dropped]);
		const received = await requests[0]?.json<Record<string, unknown>>();
		const { language: _, sample_rate: _r, ...fields } = received ?? {};
		expect(fields).toEqual({ ...body, response_format: "mp3", ...expected });
	});
});

describe("an image", () => {
	const sent = {
		quality: "high",
		background: "transparent",
		user: "u1",
		aspect_ratio: "16:9",
		lora: "pixel",
	};
	const { quality, background, user, aspect_ratio } = sent;

	it.each([
		[OPENAI, { quality, background, user }, "aspect_ratio, lora"],
		["https://api.x.ai/v1", { quality, user, aspect_ratio }, "background, lora"],
		["https://api.z.ai/api/paas/v4", { quality }, "background, user, aspect_ratio, lora"],
		[ENGINE, sent, null],
	])("by %s gets %j", async (url, expected, dropped) => {
		const { post, requests } = gateway(url, image);
		const response = await post("/v1/images/generations", { model: IMAGE, prompt: "A fox", ...sent });
		expect([response.status, response.headers.get("x-ganglion-dropped")]).toEqual([200, dropped]);
		const received = (await requests[0]?.json<Record<string, unknown>>()) ?? {};
		expect(received).toMatchObject({ model: IMAGE, prompt: "A fox", n: 1, ...expected });
		for (const name of Object.keys(sent)) expect([name, name in received]).toEqual([name, name in expected]);
	});

	it("has the steps and the guidance of engines, which count for its price", async () => {
		const { post, requests } = gateway(ENGINE, image);
		const fields = { num_inference_steps: 30, guidance_scale: 4.5, negative_prompt: "text", seed: 5 };
		const response = await post("/v1/images/generations", { model: IMAGE, prompt: "A fox", ...fields });
		expect([response.status, response.headers.get("x-ganglion-dropped")]).toEqual([200, null]);
		expect(await requests[0]?.json()).toMatchObject({ ...fields, step: 30, steps: 30 });
		const refused = await post("/v1/images/generations", { model: IMAGE, prompt: "A fox", steps: 101 });
		expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("'/steps'")]);
	});

	it.each([
		[OPENAI, ["input_fidelity"], "watermark"],
		[ENGINE, ["input_fidelity", "watermark"], null],
	])("is edited by %s with %j", async (url, expected, dropped) => {
		const { postForm, requests } = gateway(url, image);
		const response = await postForm("/v1/images/edits", [
			["model", IMAGE],
			["prompt", "A fox"],
			["image", new File([PNG], "a.png", { type: "image/png" })],
			["input_fidelity", "high"],
			["watermark", "false"],
		]);
		expect([response.status, response.headers.get("x-ganglion-dropped")]).toEqual([200, dropped]);
		const form = await requests[0]?.formData();
		expect(["input_fidelity", "watermark"].filter((name) => form?.has(name))).toEqual(expected);
		expect(form?.get("input_fidelity")).toBe("high");
	});
});

describe("a transcription", () => {
	const FIELDS = [
		["model", TRANSCRIPTION],
		["file", new File(["ID3"], "a.mp3", { type: "audio/mpeg" })],
		["chunking_strategy", "auto"],
		["known_speaker_names[]", "agent"],
		["known_speaker_names[]", "caller"],
		["diarize", "true"],
		["hotwords", "Aare"],
	] as const;

	it.each([
		[OPENAI, ["chunking_strategy", "known_speaker_names[]"], "diarize, hotwords"],
		["https://api.mistral.ai/v1", ["diarize"], "chunking_strategy, known_speaker_names, hotwords"],
		[
			"https://api.fireworks.ai/inference/v1",
			["diarize"],
			"chunking_strategy, known_speaker_names, hotwords",
		],
		["https://api.groq.com/openai/v1", [], "chunking_strategy, known_speaker_names, diarize, hotwords"],
		[ENGINE, ["chunking_strategy", "known_speaker_names[]", "diarize", "hotwords"], null],
	])("by %s gets %j", async (url, expected, dropped) => {
		const { postForm, requests } = gateway(url, transcript);
		const response = await postForm("/v1/audio/transcriptions", FIELDS);
		expect([response.status, response.headers.get("x-ganglion-dropped")]).toEqual([200, dropped]);
		const form = await requests[0]?.formData();
		const names = [...new Set(FIELDS.map(([name]) => name))].filter((name) => form?.has(name));
		expect(names).toEqual(["model", "file", ...expected]);
		if (expected.includes("known_speaker_names[]"))
			expect(form?.getAll("known_speaker_names[]")).toEqual(["agent", "caller"]);
	});
});

it("the simulator names the options that it does not have", async () => {
	const { post } = gateway("", mp3, "simulator");
	const speech = await post("/v1/audio/speech", { model: SPEECH, input: "Hello", instructions: "Calm." });
	expect([speech.status, speech.headers.get("x-ganglion-dropped")]).toEqual([200, "instructions"]);
	const picture = await post("/v1/images/generations", { model: IMAGE, prompt: "A fox", quality: "high" });
	expect([picture.status, picture.headers.get("x-ganglion-dropped")]).toEqual([200, "quality"]);
});

describe("options of recognition", () => {
	const run = async (model: string, options: object) => {
		const { post } = testGateway();
		const spoken = await post("/run/@cf/deepgram/aura-1", { text: "Call Acme now. Thank you." });
		const audio = base64(new Uint8Array(await spoken.arrayBuffer()));
		const wrapped = { body: audio, contentType: "audio/mpeg" };
		const response = await post(`/run/${model}`, {
			audio: model.includes("whisper") ? audio : wrapped,
			...options,
		});
		const text = await response.text();
		expect([response.status, text]).toEqual([200, text]);
		return { result: JSON.parse(text).result, dropped: response.headers.get("x-ganglion-dropped") };
	};

	it("of Whisper have their effect on the simulator, or are named", async () => {
		const turbo = "@cf/openai/whisper-large-v3-turbo";
		expect(await run(turbo, { prefix: "Well:", vad_filter: true, beam_size: 3 })).toMatchObject({
			result: { text: "Well: Call Acme now. Thank you." },
			dropped: "vad_filter, beam_size",
		});
		// The model's defaults are no options.
		expect((await run(turbo, { beam_size: 5, vad_filter: false })).dropped).toBeNull();
	});
});
