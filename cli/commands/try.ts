/** `ganglion try MODEL PROMPT`: streams a chat to the terminal, also about files, on a gateway that runs or on one for this answer. */
import { createParser } from "eventsource-parser";
import * as z from "zod";
import type { Defaults } from "../config-location.ts";
import { CommandError, type GatewayClient } from "../gateway-client.ts";
import { convertFile } from "../markdown-files.ts";
import { type ReachFlags, withGateway } from "../reached-gateway.ts";
import { printJson } from "../table.ts";

export interface TryFlags extends ReachFlags {
	/** Their Markdown is before the prompt. */
	file?: readonly string[];
	system?: string;
	maxTokens?: number;
}

const Chunk = z.looseObject({
	choices: z
		.array(
			z.looseObject({
				delta: z.looseObject({ content: z.string().nullish() }).optional(),
				finish_reason: z.string().nullish(),
			}),
		)
		.optional(),
	usage: z
		.looseObject({ prompt_tokens: z.number(), completion_tokens: z.number(), neurons: z.number().optional() })
		.nullish(),
	error: z.looseObject({ message: z.string() }).optional(),
});

interface Answer {
	text: string;
	usage?: z.output<typeof Chunk>["usage"];
	/** Milliseconds. Absent if there is no text. */
	firstText?: number;
	total: number;
	/** The reason of the end, as OpenAI names it: `stop`, `length`, … */
	finishReason?: string;
}

/** `finish_reason` of an answer that `max_tokens`, a budget or the context window has cut. */
const CUT = "length";

export async function tryCommand(
	model: string,
	prompt: string,
	{ flags, defaults }: { flags: TryFlags; defaults: Defaults },
): Promise<number> {
	return withGateway({ flags, defaults }, async (client) => {
		const documents = await documentsOf(client, flags.file ?? []);
		const write = flags.json ? () => {} : (text: string) => void process.stdout.write(text);
		const answer = await stream(client, { model, prompt: documents + prompt, flags, write });
		if (flags.json) printJson({ model, ...answer });
		else {
			process.stdout.write("\n");
			console.error(summaryOf(answer));
		}
		return 0;
	});
}

/** Their Markdown. Throws a `CommandError` if a file cannot be converted. */
async function documentsOf(client: GatewayClient, files: readonly string[]): Promise<string> {
	const texts = [];
	for (const file of files) {
		const { data, error } = await convertFile(client, file);
		if (error !== undefined) throw new CommandError(`${file}: ${error}`);
		texts.push(`${data}\n\n`);
	}
	return texts.join("");
}

interface Call {
	model: string;
	prompt: string;
	flags: TryFlags;
	write(text: string): void;
}

async function stream(client: GatewayClient, { model, prompt, flags, write }: Call): Promise<Answer> {
	const startedAt = performance.now();
	const elapsed = (): number => Math.round(performance.now() - startedAt);
	const response = await client.send("/ai/v1/chat/completions", {
		method: "POST",
		body: {
			model,
			messages: [
				...(flags.system === undefined ? [] : [{ role: "system", content: flags.system }]),
				{ role: "user", content: prompt },
			],
			stream: true,
			stream_options: { include_usage: true },
			...(flags.maxTokens !== undefined && { max_tokens: flags.maxTokens }),
		},
	});
	const answer: Answer = { text: "", total: 0 };
	const parser = createParser({
		onEvent({ data }) {
			if (data === "[DONE]") return;
			const { choices = [], usage, error } = Chunk.parse(JSON.parse(data));
			if (error) throw new CommandError(`the answer was interrupted: ${error.message}`);
			const text = choices.map(({ delta }) => delta?.content ?? "").join("");
			if (text !== "") answer.firstText ??= elapsed();
			answer.text += text;
			if (usage) answer.usage = usage;
			const reason = choices.map(({ finish_reason }) => finish_reason).find(Boolean);
			if (reason) answer.finishReason = reason;
			write(text);
		},
	});
	const decoder = new TextDecoder();
	for await (const bytes of response.body ?? []) parser.feed(decoder.decode(bytes, { stream: true }));
	answer.total = elapsed();
	return answer;
}

function summaryOf({ usage, finishReason, firstText, total }: Answer): string {
	const parts = [
		...(finishReason === CUT ? ["cut at the output limit"] : []),
		...(usage ? [`${usage.prompt_tokens} + ${usage.completion_tokens} tokens`] : []),
		...(usage?.neurons === undefined ? [] : [`${usage.neurons} neurons`]),
		...(firstText === undefined ? [] : [`first text after ${firstText} ms`]),
		`${total} ms`,
	];
	return `(${parts.join(", ")})`;
}
