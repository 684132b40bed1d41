/** The parts of replies of `/chat/completions`: events of a stream, and a complete reply. */

export const HEADING = {
	id: "chatcmpl-7",
	object: "chat.completion.chunk",
	created: 1_790_000_000,
	model: "llama-4-scout",
};
export const USAGE = { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 };

export const line = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
export const choices = (...list: object[]): string => line({ ...HEADING, choices: list });
export const delta = (fields: object, index = 0): string =>
	choices({ index, delta: fields, finish_reason: null });
export const calls = (...tool_calls: object[]): string => delta({ tool_calls });
export const finish = (finish_reason: string | null, index = 0): string =>
	choices({ index, delta: {}, finish_reason });
export const usage = line({ ...HEADING, choices: [], usage: USAGE });
export const DONE = "data: [DONE]\n\n";

export const chatReply = (choice: object, fields: object = {}): string =>
	JSON.stringify({
		...HEADING,
		object: "chat.completion",
		choices: [{ index: 0, finish_reason: "stop", ...choice }],
		usage: USAGE,
		...fields,
	});
