/**
 * "Copy as": each shown call runs. The shell runs curl, Node runs the programs of the SDK and of the websocket, and the inputs
 * for `env.AI` are sent as the binding would.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { encode } from "fast-png";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { ModelRow, ModelSchema } from "../../console/src/api/types.ts";
import { formsOf, isLive } from "../../console/src/models/example.ts";
import { callExamples } from "../../console/src/playground/call-examples.ts";
import {
	type CallExample,
	type ExampleCall,
	exampleValues,
	inputOfForm,
	inputOfSchema,
} from "../../console/src/playground/example-input.ts";
import { taskForms } from "../../console/src/playground/fields.ts";
import type { Values } from "../../console/src/playground/values.ts";
import { api } from "./api.ts";
import { openSession } from "./browser.ts";
import { ADMIN_TOKEN, ENGINE_MODEL } from "./gateways.ts";

const run = promisify(execFile);
const ACCOUNT = "copy-as";
const HOSTILE = `It's "$HOME" \`id\` \\n @x %41\nnext`;

// Below the project, so that the programs find the SDK.
const folder = mkdtempSync(join(process.cwd(), "node_modules/.copy-as-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** By the name of a task: the names of the models, one for each schema. */
const models = new Map<string, { row: ModelRow; schema: ModelSchema }>();

beforeAll(async () => {
	// 0.5 seconds of silence.
	writeFileSync(join(folder, "speech.wav"), wave(new Int16Array(8_000)));
	// 2 seconds of a loud tone, and 3 of silence.
	const samples = new Int16Array(80_000).map((_, at) => (at < 32_000 ? (at % 32 < 16 ? 9_000 : -9_000) : 0));
	writeFileSync(join(folder, "speech.pcm"), Buffer.from(samples.buffer));
	const grey = encode({ width: 64, height: 32, channels: 3, data: new Uint8Array(64 * 32 * 3).fill(99) });
	for (const name of ["photo.png", "mask.png", "it's a photo.png"]) writeFileSync(join(folder, name), grey);
	const rows = await api<ModelRow[]>("GET", `/accounts/${ACCOUNT}/ai/models/search?per_page=1000`);
	const schemas = new Set<string>();
	for (const row of rows) {
		const schema = await schemaOf(row.name);
		const key = row.task.name + JSON.stringify(schema);
		if (!schemas.has(key) && row.name !== ENGINE_MODEL) models.set(row.name, { row, schema });
		schemas.add(key);
	}
});

const schemaOf = (model: string): Promise<ModelSchema> =>
	api("GET", `/accounts/${ACCOUNT}/ai/models/schema?model=${encodeURIComponent(model)}`);

/** What the panel gets for a model. */
function callOf(name: string, change: Partial<ExampleCall> = {}): ExampleCall {
	const model = models.get(name);
	if (!model) throw new Error(`No model ${name}`);
	const { contentType } = model.schema.output;
	return {
		...inputOfSchema(model.schema.input, name),
		model: name,
		task: model.row.task.name,
		origin: inject("serve"),
		account: ACCOUNT,
		live: isLive(model.schema.input),
		...(contentType !== undefined && contentType !== "application/json" && { answerType: contentType }),
		...change,
	};
}

function textOf(examples: readonly CallExample[], title: string): string {
	const example = examples.find((each) => each.title === title);
	if (!example || !("text" in example)) throw new Error(`No text for ${title}: ${JSON.stringify(example)}`);
	return example.text;
}

const inFolder = { cwd: folder, env: { ...process.env, TOKEN: ADMIN_TOKEN } };

/** The answer: the result in JSON, or the type of the file by its first bytes. */
async function runCurl(call: ExampleCall): Promise<unknown> {
	const text = textOf(callExamples(call), "curl").replaceAll("curl http", "curl -sS http");
	// A command may be longer than an argument can be.
	writeFileSync(join(folder, "call.sh"), text);
	const { stdout } = await run("sh", ["call.sh"], inFolder);
	const [, file] = /--output (\S+)/.exec(text) ?? [];
	if (file !== undefined) return fileType(readFileSync(join(folder, file)));
	const { success, result, errors } = JSON.parse(stdout);
	if (!success) throw new Error(`${text}\n${JSON.stringify(errors)}`);
	return result;
}

function fileType(bytes: Buffer): string {
	const start = bytes.subarray(0, 4).toString("latin1");
	if (start === "\x89PNG") return "image/png";
	if (start.startsWith("\xff\xd8")) return "image/jpeg";
	if (start === "RIFF") return "audio/wav";
	if (start.startsWith("\xff") || start.startsWith("ID3")) return "audio/mpeg";
	return `? ${bytes.subarray(0, 200)}`;
}

/** What the schema of the output requires: the fields of an object, an array, or the type of a file. */
function isAsTheSchemaSays(answer: unknown, { output }: ModelSchema): boolean {
	const { contentType } = output;
	if (contentType !== undefined && contentType !== "application/json") return answer === contentType;
	if (output.type === "array") return Array.isArray(answer);
	return formsOf(output).some(({ required = [] }) => required.every((name) => name in Object(answer)));
}

/** A WAV file with one channel and 16,000 samples per second. */
function wave(samples: Int16Array): Buffer {
	const head = Buffer.alloc(44);
	head.write("RIFF");
	head.writeUInt32LE(36 + samples.byteLength, 4);
	head.write("WAVEfmt ", 8);
	for (const [offset, value] of [
		[16, 16],
		[24, 16_000],
		[28, 32_000],
		[40, samples.byteLength],
	] as const)
		head.writeUInt32LE(value, offset);
	for (const [offset, value] of [
		[20, 1],
		[22, 1],
		[32, 2],
		[34, 16],
	] as const)
		head.writeUInt16LE(value, offset);
	head.write("data", 36);
	return Buffer.concat([head, Buffer.from(samples.buffer)]);
}

/** The values of a model's form that a person changed, besides the examples. */
function filled(name: string, values: Values, multipart = false): ExampleCall {
	const schema = models.get(name)?.schema.input ?? {};
	const form = taskForms(schema).find(({ fields }) =>
		Object.keys(values).every((field) => fields.some((each) => each.name === field)),
	);
	if (!form) throw new Error(`${name} has no form with ${Object.keys(values)}`);
	expect(form.multipart).toBe(multipart);
	return callOf(name, inputOfForm(form, { ...exampleValues([form], name), ...values }));
}

/** A file that a person chose. The name is that of a file in the folder. */
const chosen = (name: string, type: string): File =>
	new File([readFileSync(join(folder, name))], name, { type });

describe("the example of a model", () => {
	it("has a prompt for its task", () => {
		const promptsOf = (task: string) =>
			[...models.values()]
				.filter(({ row }) => row.task.name === task)
				.map(({ row, schema }) => inputOfSchema(schema.input, row.name).fields.prompt)
				.filter((prompt) => prompt !== undefined);
		expect(new Set(promptsOf("Text-to-Image"))).toEqual(new Set(["A lighthouse in the fog"]));
		expect(new Set(promptsOf("Text-to-Speech"))).toEqual(new Set(["The train to Lisbon leaves at noon."]));
		expect(new Set(promptsOf("Text Generation"))).not.toContain("A lighthouse in the fog");
	});
});

describe("the shown call in curl", () => {
	it("runs for every schema of the catalogue, and answers as the schema says", async () => {
		const failures: string[] = [];
		for (const [name, { schema }] of models) {
			if (isLive(schema.input)) continue;
			try {
				const answer = await runCurl(callOf(name));
				if (!isAsTheSchemaSays(answer, schema)) failures.push(`${name}: ${JSON.stringify(answer)}`);
			} catch (error) {
				failures.push(`${name}: ${error}`);
			}
		}
		expect(failures).toEqual([]);
		expect(models.size).toBeGreaterThan(30);
	});

	it("sends quotes, variables and new lines as they are", async () => {
		const call = callOf("@cf/meta/m2m100-1.2b");
		const answer = await runCurl({ ...call, fields: { ...call.fields, text: HOSTILE } });
		expect(answer).toMatchObject({ translated_text: `[simulated translation to fr] ${HOSTILE}` });
	});

	it("sends more than an argument can contain", async () => {
		const call = callOf("@cf/meta/m2m100-1.2b");
		const text = `It's ${"long ".repeat(30_000)}`;
		expect(await runCurl({ ...call, fields: { ...call.fields, text } })).toHaveProperty("translated_text");
	});

	it("sends the chosen files and the other fields", async () => {
		const photo = () => chosen("it's a photo.png", "image/png");
		const audio = () => chosen("speech.wav", "audio/wav");
		const answers = [
			filled("@cf/llava-hf/llava-1.5-7b-hf", { image: photo(), prompt: HOSTILE }),
			filled("@cf/moondream/moondream3.1-9B-A2B", { image: photo(), question: HOSTILE }),
			filled("@cf/bytedance/stable-diffusion-xl-lightning", {
				prompt: HOSTILE,
				image: photo(),
				mask: photo(),
			}),
			filled("@cf/black-forest-labs/flux-2-dev", { prompt: HOSTILE, input_image_0: photo() }, true),
			filled("@cf/openai/whisper", { audio: audio(), source_lang: "en" }),
			filled("@cf/openai/whisper-large-v3-turbo", { audio: audio(), initial_prompt: HOSTILE }),
			filled("@cf/deepgram/nova-3", { audio: audio(), language: "en", punctuate: true }),
		];
		for (const call of answers) {
			const { schema } = models.get(call.model) ?? expect.fail(call.model);
			expect(isAsTheSchemaSays(await runCurl(call), schema), call.model).toBe(true);
		}
	});

	it("needs no token on an open gateway", async () => {
		const call = callOf("@cf/deepgram/aura-1", { origin: inject("dev"), open: true });
		expect(textOf(callExamples(call), "curl")).not.toContain("TOKEN");
		expect(await runCurl(call)).toBe("audio/mpeg");
		await runProgram(textOf(callExamples(call), "OpenAI SDK"));
		expect(fileType(readFileSync(join(folder, "answer.mp3")))).toBe("audio/mpeg");
	});
});

describe("the shown call in OpenAI's SDK", () => {
	it("runs, or the panel says that the SDK has no method", async () => {
		const absent: string[] = [];
		const programs: Record<string, string> = {};
		for (const name of models.keys()) {
			const example = callExamples(callOf(name)).find(({ title }) => title === "OpenAI SDK");
			if (!example || "absent" in example) absent.push(name);
			else programs[name] = example.text;
		}
		expect(await failuresOf(programs)).toEqual([]);
		expect(absent.sort()).toEqual([
			"@cf/ai4bharat/indictrans2-en-indic-1B",
			"@cf/baai/bge-reranker-base",
			"@cf/cloudflare/clef",
			"@cf/cloudflare/clef-omni",
			"@cf/deepgram/flux",
			"@cf/huggingface/distilbert-sst-2-int8",
			"@cf/llava-hf/llava-1.5-7b-hf",
			"@cf/meta/m2m100-1.2b",
			"@cf/microsoft/resnet-50",
			"@cf/moondream/moondream3.1-9B-A2B",
			"@cf/pipecat-ai/smart-turn-v2",
		]);
	});

	it("edits the chosen image, and translates a recording", async () => {
		const photo = chosen("it's a photo.png", "image/png");
		const edit = filled("@cf/black-forest-labs/flux-2-dev", { prompt: HOSTILE, input_image_0: photo }, true);
		const image = textOf(callExamples(edit), "OpenAI SDK");
		expect(image).toContain("client.images.edit(");
		const { stdout } = await runProgram(`${image}\nconsole.log(answer.data[0].b64_json.slice(0, 5));`);
		expect(stdout).toMatch(/^(?:iVBOR|\/9j\/)/);

		const audio = chosen("speech.wav", "audio/wav");
		const recording = filled("@cf/openai/whisper-large-v3-turbo", { audio, task: "translate" });
		const translation = textOf(callExamples(recording), "OpenAI SDK");
		expect(translation).toContain("client.audio.translations.create(");
		expect((await runProgram(`${translation}\nconsole.log(typeof answer.text);`)).stdout).toBe("string\n");
	});
});

describe("the shown call in TypeScript", () => {
	it("has the inputs that the model accepts", async () => {
		const failures: string[] = [];
		for (const [name, { schema }] of models) {
			if (isLive(schema.input)) continue;
			try {
				const text = textOf(callExamples(callOf(name)), "TypeScript with env.AI");
				const answer = await runBinding(text, name);
				if (!isAsTheSchemaSays(answer, schema)) failures.push(`${name}: ${JSON.stringify(answer)}`);
			} catch (error) {
				failures.push(`${name}: ${error}`);
			}
		}
		expect(failures).toEqual([]);
	});
});

describe("the shown live transcription", () => {
	it("runs in Node", async () => {
		const text = textOf(callExamples(callOf("@cf/deepgram/flux")), "WebSocket");
		const { stdout } = await runProgram(text);
		expect(stdout).toContain('"event":"EndOfTurn"');
	});

	it("parses in TypeScript, and curl and the SDK are named as absent", async () => {
		const examples = callExamples(callOf("@cf/deepgram/flux"));
		const text = textOf(examples, "TypeScript with env.AI");
		const sent: unknown[] = [];
		const socket = {
			accept: () => {},
			addEventListener: () => {},
			send: (data: unknown) => void sent.push(data),
		};
		const calls: unknown[] = [];
		const AI = {
			run: async (...parameters: unknown[]) => {
				calls.push(parameters);
				return { webSocket: socket };
			},
		};
		await new AsyncFunction("env", "recording", stripTypeScriptTypes(text))({ AI }, ["samples"]);
		expect(calls).toEqual([
			["@cf/deepgram/flux", { encoding: "linear16", sample_rate: "16000" }, { websocket: true }],
		]);
		expect(sent).toEqual(["samples", '{"type":"CloseStream"}']);
		expect(examples.filter((each) => "absent" in each).map(({ title }) => title)).toEqual([
			"curl",
			"OpenAI SDK",
		]);
	});
});

describe("the panel", () => {
	it("shows a speech of the text in the form, which runs in curl, and the method of the SDK", async () => {
		const tab = await openSession("serve", "/console/playground/@cf/deepgram/aura-1");
		const { page } = tab;
		await page.getByLabel("text").fill("It's noon");
		const curl = await page.getByLabel("curl", { exact: true }).textContent();
		expect(curl).toContain("/ai/run/@cf/deepgram/aura-1");
		await run("sh", ["-c", curl ?? ""], inFolder);
		expect(fileType(readFileSync(join(folder, "answer.mp3")))).toBe("audio/mpeg");
		await page.getByRole("tab", { name: "OpenAI SDK" }).click();
		const program = await page.getByLabel("OpenAI SDK", { exact: true }).textContent();
		expect(program).toContain('client.audio.speech.create({\n\t"model": "@cf/deepgram/aura-1",');
		expect(program).toContain('"input": "It\'s noon"');
		await tab.close();
	});

	it("says that OpenAI's SDK has no method", async () => {
		const tab = await openSession("dev", "/console/playground/@cf/baai/bge-reranker-base");
		await tab.page.getByRole("tab", { name: "OpenAI SDK" }).click();
		await tab.page.getByText("OpenAI's SDK has no method for this input (Text Classification).").waitFor();
		await tab.close();
	});
});

function runProgram(text: string) {
	const path = join(folder, "program.mjs");
	writeFileSync(path, text);
	return run(process.execPath, [path], inFolder);
}

/** Runs the programs one after the other in one process, which loads the SDK once. Returns a sentence for each that fails. */
async function failuresOf(programs: Record<string, string>): Promise<string[]> {
	const files = Object.entries(programs).map(([name, text], index) => {
		const file = `program-${index}.mjs`;
		writeFileSync(join(folder, file), text);
		return [name, file];
	});
	await runProgram(`
import { writeFileSync } from "node:fs";
const failures = [];
for (const [name, file] of ${JSON.stringify(files)})
	await import("./" + file).catch((error) => failures.push(name + ": " + String(error).slice(0, 600)));
writeFileSync("failures.json", JSON.stringify(failures));
`);
	return JSON.parse(readFileSync(join(folder, "failures.json"), "utf8"));
}

const AsyncFunction: FunctionConstructor = Object.getPrototypeOf(async () => {}).constructor;

/** Runs the text with an `env.AI` that sends the inputs over REST, as the binding does. Files come from the folder. */
async function runBinding(text: string, model: string): Promise<unknown> {
	const body = stripTypeScriptTypes(text).replace('import { Buffer } from "node:buffer";', "");
	const fetchFile = async (url: string): Promise<Response> => {
		const name = decodeURIComponent(new URL(url).pathname.slice(1));
		return new Response(readFileSync(join(folder, name)));
	};
	let answer: unknown;
	const AI = {
		run: async (name: string, inputs: Record<string, unknown>) => {
			expect(name).toBe(model);
			answer = await sendInputs(name, inputs);
		},
	};
	await new AsyncFunction("env", "fetch", body)({ AI }, fetchFile);
	return answer;
}

/** A value `{ body, contentType }` is the body of the request, and the others are in its address. */
async function sendInputs(model: string, inputs: Record<string, unknown>): Promise<unknown> {
	const isBody = (value: unknown): value is { body: ReadableStream; contentType: string } =>
		Object(value).body instanceof ReadableStream;
	const others = Object.entries(inputs).filter(([, value]) => !isBody(value));
	const file = Object.values(inputs).find(isBody);
	const query = new URLSearchParams(
		others.flatMap(([name, value]) => [value].flat().map((each) => [name, String(each)])),
	);
	const url = `${inject("serve")}/client/v4/accounts/${ACCOUNT}/ai/run/${model}`;
	const authorization = `Bearer ${ADMIN_TOKEN}`;
	const response = file
		? await fetch(`${url}?${query}`, {
				method: "POST",
				headers: { authorization, "content-type": file.contentType },
				body: await new Response(file.body).arrayBuffer(),
			})
		: await fetch(url, { method: "POST", headers: { authorization }, body: JSON.stringify(inputs) });
	if (!response.ok) throw new Error(await response.text());
	const type = response.headers.get("content-type") ?? "";
	return type.startsWith("application/json") ? ((await response.json()) as { result: unknown }).result : type;
}
