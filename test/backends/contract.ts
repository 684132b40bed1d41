/**
 * The contract of all backends: the table has the expected tasks, answers have the format of their task, a chat streams to
 * `[DONE]` with its usage, a cancellation by the reader or the caller stops it, and all errors are `AiError`.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type {
	Backend,
	BackendServices,
	BackendTasks,
	CallContext,
	Target,
} from "../../src/backends/backend.ts";
import { AiError, FAILURES } from "../../src/core/errors.ts";
import type { Model } from "../../src/models/model.ts";
import type { Answer, TaskInput, TaskName, TaskOutput } from "../../src/tasks/task.ts";
import type { ChatInput } from "../../src/tasks/text-generation/types.ts";
import { wav } from "../dialects/samples.ts";
import { MODEL } from "./upstream.ts";

export interface Subject {
	name: string;
	backend: Backend;
	target: Target;
	/** Called for each case. */
	services(): BackendServices;
	/** The services for one streamed answer, and whether its source has been stopped. */
	observedServices(): ObservedServices;
	/** Exactly the tasks of its table. */
	tasks: readonly TaskName[];
	/** The catalogue's model for a task, if the backend depends on it. */
	models?: Partial<Record<TaskName, Model>>;
	/** Inputs that replace those below. */
	inputs?: { [Name in TaskName]?: TaskInput<Name> };
	/** Cases that it does not support, each with the reason. */
	skip?: Partial<Record<Case, string>>;
}

export interface ObservedServices {
	services: BackendServices;
	stopped(): boolean;
}

/** A session is no value: live transcription has its own tests. */
type ValueTask = Exclude<TaskName, "live-transcription">;
const isValueTask = (task: TaskName): task is ValueTask => task in OUTPUTS;

export type Case =
	| "a caller who has left"
	| "usage"
	| "several choices"
	| "a raw prompt"
	| "tools"
	| "a JSON schema";

/** An image of 2 by 2 pixels. */
const PNG = Uint8Array.from(
	atob(
		"iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEUlEQVR4XmP4z8AAxgz/gQAAH+4F+x9fuoMAAAAASUVORK5CYII=",
	),
	(character) => character.charCodeAt(0),
);

const image = { bytes: PNG, contentType: "image/png" };
const audio = { bytes: wav(), contentType: "audio/wav" };
const chat: ChatInput = {
	messages: [{ role: "user", content: "My name is Alice. What is my name?" }],
	stream: false,
};

const INPUTS: { [Name in ValueTask]: TaskInput<Name> } = {
	"text-generation": chat,
	decision: {
		model: "clef",
		state: { mail: "My parcel is late." },
		questions: {
			complaint: { type: "noul", instructions: "It is a complaint." },
			kind: {
				type: "choice",
				instructions: "About what?",
				criteria: { delivery: "a parcel", price: "money" },
			},
			mood: { type: "score", instructions: "How angry?", criteria: ["calm", "annoyed", "furious"] },
		},
		images: [],
		audio: [],
		videos: [],
	},
	moderation: { items: ["a cat", "a dog"].map((text) => ({ text, images: [], sent: text })) },
	"text-embeddings": { texts: ["a cat", "a dog"] },
	reranking: { query: "cats", contexts: ["dogs bark", "cats purr"] },
	"text-classification": { text: "I love it." },
	translation: { texts: ["hello", "good night"], source_lang: "en", target_lang: "fr" },
	summarization: { text: "Cats purr. Dogs bark. Cows moo.", max_length: 20 },
	"speech-recognition": { audio, task: "transcribe" },
	"text-to-speech": { text: "Hello", encoding: "mp3" },
	"text-to-image": { prompt: "a cat", width: 256, height: 256, images: [], format: "png" },
	"image-to-text": { image },
	"image-classification": { image },
	"object-detection": { image },
	"turn-detection": { audio },
};

const Text = z.string().min(1);
const Share = z.number().min(0).max(1);
const Count = z.int().nonnegative();
const Usage = z
	.looseObject({ prompt_tokens: Count, completion_tokens: Count, total_tokens: Count })
	.refine((usage) => usage.total_tokens === usage.prompt_tokens + usage.completion_tokens);
const MaybeUsage = Usage.optional();
const Labels = z.looseObject({ labels: z.array(z.object({ label: Text, score: Share })).min(1) });
const File = z.looseObject({ bytes: z.instanceof(Uint8Array), contentType: Text });

const Completion = z.looseObject({
	id: Text,
	object: z.literal("chat.completion"),
	created: Count,
	model: z.string(),
	choices: z
		.array(
			z.looseObject({
				index: Count,
				message: z.looseObject({ role: z.literal("assistant"), content: z.string().nullable() }),
				finish_reason: Text,
			}),
		)
		.min(1),
	usage: Usage.nullish(),
});

const Chunk = z.looseObject({
	id: Text,
	object: z.literal("chat.completion.chunk"),
	created: Count,
	model: z.string(),
	choices: z.array(
		z.looseObject({
			index: Count,
			delta: z.looseObject({ role: z.string().nullish(), content: z.string().nullish() }),
			finish_reason: z.string().nullish(),
		}),
	),
	usage: Usage.nullish(),
});
type Chunk = z.output<typeof Chunk>;

const OUTPUTS: Record<ValueTask, z.ZodType> = {
	"text-generation": Completion,
	decision: z.looseObject({
		answers: z.object({
			complaint: z.object({ type: z.literal("noul"), noul: Share }),
			kind: z.object({
				type: z.literal("choice"),
				choice: z.enum(["delivery", "price"]),
				probabilities: z.object({ delivery: Share, price: Share }),
				confidence: Share,
			}),
			mood: z.object({
				type: z.literal("score"),
				score: z.number().min(0).max(2),
				legend: z.strictObject({ 0: z.literal("calm"), 1: z.literal("annoyed"), 2: z.literal("furious") }),
				probabilities: z.strictObject({ 0: Share, 1: Share, 2: Share }),
				confidence: Share,
			}),
		}),
		usage: z.object({ input_tokens: Count, output_tokens: Count }),
	}),
	moderation: z.looseObject({
		results: z
			.array(
				z.union([
					z.object({ verdict: z.object({ safe: z.boolean(), categories: z.array(z.string()) }) }),
					z.object({
						scored: z.looseObject({
							categories: z.record(z.string(), z.boolean()),
							category_scores: z.record(z.string(), Share),
						}),
					}),
				]),
			)
			.length(2),
		usage: MaybeUsage,
	}),
	"text-embeddings": z.looseObject({
		vectors: z
			.array(z.array(z.number()).min(1))
			.length(2)
			.refine(([first, second]) => first?.length === second?.length),
	}),
	reranking: z.strictObject({
		ranks: z
			.array(z.strictObject({ id: z.int().min(0).max(1), score: Share }))
			.length(2)
			.refine(([first, second]) => first && second && first.score >= second.score && first.id !== second.id),
	}),
	"text-classification": Labels,
	translation: z.looseObject({ texts: z.array(Text).length(2), usage: MaybeUsage }),
	summarization: z.looseObject({ summary: Text, usage: MaybeUsage }),
	"speech-recognition": z.looseObject({ text: z.string() }),
	"text-to-speech": File,
	"text-to-image": File,
	"image-to-text": z.looseObject({ description: Text, usage: MaybeUsage }),
	"image-classification": Labels,
	"object-detection": z.looseObject({
		objects: z.array(
			z.looseObject({
				label: Text,
				score: Share,
				box: z
					.looseObject({
						xmin: z.number().min(0),
						ymin: z.number().min(0),
						xmax: z.number().max(2),
						ymax: z.number().max(2),
					})
					.refine(({ xmin, ymin, xmax, ymax }) => xmin < xmax && ymin < ymax),
			}),
		),
		width: z.literal(2),
		height: z.literal(2),
	}),
	"turn-detection": z.looseObject({ is_complete: z.boolean(), probability: Share }),
};

interface Asking {
	signal?: AbortSignal | undefined;
	services?: BackendServices;
}

/** Declares the suite. Call it at the top of a test file. */
export function describeBackend(subject: Subject): void {
	const { name, backend, target, tasks, models = {}, inputs = {}, skip = {} } = subject;
	const inputOf = <Name extends ValueTask>(task: Name): TaskInput<Name> => inputs[task] ?? INPUTS[task];
	const valueTasks = tasks.filter(isValueTask);
	const caseOf = (which: Case) =>
		skip[which] === undefined
			? (title: string) => title
			: (title: string) => `${title} (skipped: ${skip[which]})`;
	const run = (which: Case) => (skip[which] === undefined ? it : it.skip);

	function ask<Name extends TaskName>(
		task: Name,
		input: TaskInput<Name>,
		{ signal = new AbortController().signal, services = subject.services() }: Asking = {},
	): Promise<Answer<Name>> {
		const entry: BackendTasks[Name] = backend(target, services)[task];
		if (!entry) throw new Error(`${name} has no ${task}`);
		const context: CallContext = { model: models[task] ?? MODEL, signal };
		return entry(input, context);
	}

	async function outputOf<Name extends TaskName>(
		task: Name,
		input: TaskInput<Name>,
	): Promise<TaskOutput<Name>> {
		const answer = await ask(task, input);
		if (answer.kind !== "value") throw new Error("a stream, where a value was asked for");
		return answer.output;
	}

	async function streamOf(input: Partial<ChatInput> = {}, asking?: Asking) {
		const answer = await ask(
			"text-generation",
			{ ...inputOf("text-generation"), ...input, stream: true },
			asking,
		);
		if (answer.kind !== "stream") throw new Error("a value, where a stream was asked for");
		return answer.events;
	}

	async function chunksOf(input: Partial<ChatInput> = {}): Promise<Chunk[]> {
		const text = await new Response(await streamOf(input)).text();
		const events = text.split("\n\n").filter((event) => !event.startsWith(":"));
		// Nothing follows `[DONE]`, and nothing but chunks and comments comes before it.
		expect(events.slice(-2)).toEqual(["data: [DONE]", ""]);
		return events.slice(0, -2).map((event) => Chunk.parse(JSON.parse(event.replace(/^data: ?/, ""))));
	}

	describe(`the backend ${name}`, () => {
		it("does what it should and nothing else", () => {
			expect(Object.keys(backend(target, subject.services())).sort()).toEqual([...tasks].sort());
		});

		it.each(valueTasks)("answers %s in its shape", async (task) => {
			expect(OUTPUTS[task].safeParse(await outputOf(task, inputOf(task))).error).toBeUndefined();
		});

		const left = "a caller who has left";
		run(left).each(valueTasks)(caseOf(left)("refuses %s to a caller who has left"), async (task) => {
			const signal = AbortSignal.abort();
			const error = await ask(task, inputOf(task), { signal }).catch((thrown: unknown) => thrown);
			expect(error).toBeInstanceOf(AiError);
			expect(error).toMatchObject({ key: "aborted", code: FAILURES.aborted.code });
		});

		if (!tasks.includes("text-generation")) return;

		it("streams a chat: a role, a text, one finish, [DONE]", async () => {
			const chunks = await chunksOf();
			const choices = chunks.flatMap((chunk) => chunk.choices);
			expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
			expect(choices[0]?.delta.role).toBe("assistant");
			expect(choices.map(({ delta }) => delta.content ?? "").join("")).not.toBe("");
			expect(choices.filter(({ finish_reason }) => typeof finish_reason === "string")).toHaveLength(1);
		});

		run("usage")(caseOf("usage")("tells the usage of a chat, whole or streamed"), async () => {
			expect((await outputOf("text-generation", inputOf("text-generation"))).usage).toBeTruthy();
			const told = (await chunksOf()).filter((chunk) => chunk.usage);
			expect(told.length).toBeGreaterThan(0);
			expect(told.at(-1)?.usage?.completion_tokens).toBeGreaterThan(0);
		});

		run("several choices")(caseOf("several choices")("gives as many choices as asked"), async () => {
			const { choices } = await outputOf("text-generation", { ...inputOf("text-generation"), n: 2 });
			expect(choices.map(({ index }) => index).sort()).toEqual([0, 1]);
			const finished = (await chunksOf({ n: 2 }))
				.flatMap((chunk) => chunk.choices)
				.filter(({ finish_reason }) => typeof finish_reason === "string");
			expect(finished.map(({ index }) => index).sort()).toEqual([0, 1]);
		});

		run("a raw prompt")(caseOf("a raw prompt")("continues a raw prompt, whole or streamed"), async () => {
			const raw = { messages: [], prompt: "Once upon a time" };
			const output = await outputOf("text-generation", { ...raw, stream: false });
			expect(Completion.safeParse(output).error).toBeUndefined();
			expect((await chunksOf(raw)).length).toBeGreaterThan(0);
		});

		run("tools")(caseOf("tools")("calls a tool that it must call"), async () => {
			const { choices } = await outputOf("text-generation", {
				...inputOf("text-generation"),
				tools: [
					{
						type: "function",
						function: {
							name: "greet",
							description: "Greets a person by name",
							parameters: {
								type: "object",
								properties: { name: { type: "string" } },
								required: ["name"],
								additionalProperties: false,
							},
						},
					},
				],
				tool_choice: "required",
			});
			const [call] = choices[0]?.message.tool_calls ?? [];
			expect(call).toMatchObject({ id: expect.any(String), type: "function", function: { name: "greet" } });
			expect(
				z.strictObject({ name: z.string() }).safeParse(JSON.parse(call?.function.arguments ?? "")).success,
			).toBe(true);
		});

		run("a JSON schema")(caseOf("a JSON schema")("keeps to a JSON schema"), async () => {
			const { choices } = await outputOf("text-generation", {
				...inputOf("text-generation"),
				response_format: {
					type: "json_schema",
					json_schema: {
						name: "person",
						schema: {
							type: "object",
							properties: { known: { type: "boolean" } },
							required: ["known"],
							additionalProperties: false,
						},
					},
				},
			});
			const value: unknown = JSON.parse(choices[0]?.message.content ?? "");
			expect(z.strictObject({ known: z.boolean() }).safeParse(value).error).toBeUndefined();
		});

		it.each(["before its first chunk", "after it"])(
			"stops what feeds a stream that is cancelled %s",
			async (when) => {
				const { services, stopped } = subject.observedServices();
				const reader = (await streamOf({}, { services })).getReader();
				if (when === "after it") expect((await reader.read()).done).toBe(false);
				expect(stopped()).toBe(false);
				await reader.cancel();
				expect(stopped()).toBe(true);
			},
		);

		it("ends a stream in an AiError, and what feeds it, when the caller leaves amid it", async () => {
			const caller = new AbortController();
			const { services, stopped } = subject.observedServices();
			const reader = (await streamOf({}, { services, signal: caller.signal })).getReader();
			await reader.read();
			expect(stopped()).toBe(false);
			caller.abort();
			const error = await (async () => {
				for (;;) if ((await reader.read()).done) return undefined;
			})().catch((thrown: unknown) => thrown);
			expect(error).toBeInstanceOf(AiError);
			expect(error).toMatchObject({ key: "aborted" });
			expect(stopped()).toBe(true);
		});
	});
}
