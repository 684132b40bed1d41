/**
 * OpenAI's custom tools, whose input is a text instead of JSON (platform.openai.com/docs/guides/function-calling#custom-tools). Engines
 * receive a function with one string parameter, `input`. Its calls become calls of the custom tool again, whole and in streams. The
 * grammar of a tool is part of the description for the model, and no engine receives it as a constraint.
 */
import * as z from "zod";
import { isRecord, parseJson } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { DONE, frame, isDone, mapEvents } from "../../streams/sse.ts";
import type { ChatCompletion } from "../../tasks/text-generation/types.ts";
import { parseElement } from "../invalid-input.ts";
import { errorFrame } from "./errors.ts";

const Grammar = { syntax: z.enum(["lark", "regex"]), definition: z.string() };

/** Responses has the fields of the grammar in the format, chat in `grammar`. */
export const CustomFormat = lazy(() =>
	z.union([
		z.object({ type: z.literal("text") }),
		z.object({ type: z.literal("grammar"), ...Grammar }),
		z
			.object({ type: z.literal("grammar"), grammar: z.object(Grammar) })
			.transform(({ type, grammar }) => ({ type, ...grammar })),
	]),
);

export interface CustomTool {
	name: string;
	description?: string | null | undefined;
	format?: z.output<ReturnType<typeof CustomFormat>> | null | undefined;
}

const SentCustomTool = lazy(() =>
	z.object({
		name: z.string().min(1),
		description: z.string().nullish(),
		format: CustomFormat().nullish(),
	}),
);

/** The function for the engine, in the flat form. */
export function customFunction({ name, description, format }: CustomTool): object {
	const rule =
		format?.type === "grammar" &&
		`It must match this ${format.syntax === "lark" ? "Lark grammar" : "regular expression"}:\n${format.definition}`;
	const input = {
		type: "string",
		description: ["The whole input of the tool.", rule].filter(Boolean).join(" "),
	};
	return {
		type: "function",
		name,
		description,
		parameters: { type: "object", properties: { input }, required: ["input"], additionalProperties: false },
	};
}

const InputArguments = lazy(() => z.object({ input: z.string() }));

/** The arguments of the function, as JSON text. */
export const argumentsOfInput = (input: string): string => JSON.stringify({ input });

/** Some models write the tool's input directly, and an interrupted answer is not an object. */
export const inputOfArguments = (text: string): string =>
	InputArguments().safeParse(parseJson(text)).data?.input ?? text;

type Fields = Record<string, unknown>;

const isCustom = (value: unknown): value is Fields => isRecord(value) && value.type === "custom";

/** A tool of chat's form (`{type, custom}`), or of Responses' (flat), as a function. Other tools are returned as they are. Throws 8001. */
export function functionOfTool(tool: unknown, at: string): unknown {
	if (!isCustom(tool)) return tool;
	const { custom, cache_control } = tool;
	const parsed = isRecord(custom)
		? parseElement(SentCustomTool(), custom, `${at}.custom`)
		: parseElement(SentCustomTool(), tool, at);
	return { ...customFunction(parsed), ...(cache_control !== undefined && { cache_control }) };
}

/** A choice of a custom tool as that of its function. */
export function functionOfChoice(choice: unknown): unknown {
	if (!isRecord(choice)) return choice;
	if (choice.type === "custom") {
		const { name } = isRecord(choice.custom) ? choice.custom : choice;
		return { type: "function", function: { name } };
	}
	const { allowed_tools: allowed } = choice;
	if (!isRecord(allowed) || !Array.isArray(allowed.tools)) return choice;
	return { ...choice, allowed_tools: { ...allowed, tools: allowed.tools.map(functionOfChoice) } };
}

/** A call of the history (`{id, type, custom}`) as a call of the function. Other calls are returned as they are. */
export function functionOfCall(call: unknown): unknown {
	if (!isCustom(call) || !isRecord(call.custom)) return call;
	const { custom, type: _, ...fields } = call;
	const { name, input } = custom;
	if (typeof input !== "string") return call;
	return { ...fields, type: "function", function: { name, arguments: argumentsOfInput(input) } };
}

/** The names of the custom tools of a chat's body. */
export function customNames(inputs: unknown): ReadonlySet<string> {
	const tools = isRecord(inputs) && Array.isArray(inputs.tools) ? inputs.tools : [];
	return new Set(
		tools.filter(isCustom).map((tool) => {
			const { name } = isRecord(tool.custom) ? tool.custom : tool;
			return String(name);
		}),
	);
}

/** The completion with calls of custom tools. */
export function withCustomCalls(completion: ChatCompletion, names: ReadonlySet<string>): object {
	const choices = completion.choices.map((choice) => {
		const { tool_calls } = choice.message;
		if (!tool_calls) return choice;
		const calls = tool_calls.map((call) => {
			const { function: called, type: _, ...fields } = call;
			if (!names.has(called.name)) return call;
			const custom = { name: called.name, input: inputOfArguments(called.arguments) };
			return { ...fields, type: "custom", custom };
		});
		return { ...choice, message: { ...choice.message, tool_calls: calls } };
	});
	return { ...completion, choices };
}

/** Takes over `events`, a stream of chunks in OpenAI's form. The input of a call is one piece, because its JSON must be complete. */
export function customCallEvents(
	events: ReadableStream<Uint8Array>,
	names: ReadonlySet<string>,
): ReadableStream<Uint8Array> {
	/** By the index of the choice. */
	const choices = new Map<number, CustomCallWriter>();
	const convert = (choice: unknown): unknown => {
		if (!isRecord(choice)) return choice;
		const index = typeof choice.index === "number" ? choice.index : 0;
		const writer = choices.get(index) ?? new CustomCallWriter(names);
		choices.set(index, writer);
		return writer.convert(choice);
	};
	return mapEvents(events, {
		onData(data) {
			if (isDone(data)) return DONE;
			const chunk = parseJson(data);
			if (!isRecord(chunk) || !Array.isArray(chunk.choices)) return `data: ${data}\n\n`;
			return frame({ ...chunk, choices: chunk.choices.map(convert) });
		},
		onEnd: () => "",
		onError: errorFrame,
	});
}

/** The calls of one choice. */
class CustomCallWriter {
	readonly #names: ReadonlySet<string>;
	/** The arguments so far of custom calls whose input is not sent yet, by index. */
	readonly #open = new Map<unknown, string>();

	constructor(names: ReadonlySet<string>) {
		this.#names = names;
	}

	convert(choice: Fields): Fields {
		const delta = isRecord(choice.delta) ? choice.delta : {};
		const sent: readonly unknown[] = Array.isArray(delta.tool_calls) ? delta.tool_calls : [];
		const isEnd = typeof choice.finish_reason === "string";
		if (sent.length === 0 && !(isEnd && this.#open.size > 0)) return choice;
		const pieces = sent.flatMap((piece) => this.#convertPiece(piece));
		if (isEnd) pieces.push(...this.#inputs());
		const { tool_calls: _, ...fields } = delta;
		return { ...choice, delta: { ...fields, ...(pieces.length > 0 && { tool_calls: pieces }) } };
	}

	#convertPiece(piece: unknown): unknown[] {
		if (!isRecord(piece) || !isRecord(piece.function)) return [piece];
		const { type: _, function: called, ...fields } = piece;
		const { name, arguments: text } = called;
		const added = typeof text === "string" ? text : "";
		const known = this.#open.get(piece.index);
		if (known !== undefined) {
			this.#open.set(piece.index, known + added);
			return [];
		}
		if (typeof name !== "string" || !this.#names.has(name)) return [piece];
		this.#open.set(piece.index, added);
		return [{ ...fields, type: "custom", custom: { name, input: "" } }];
	}

	#inputs(): Fields[] {
		const inputs = [...this.#open].map(([index, text]) => ({
			index,
			custom: { input: inputOfArguments(text) },
		}));
		this.#open.clear();
		return inputs;
	}
}
