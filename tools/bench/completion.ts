/** The complete answer of the engines of the bench. */
export const COMPLETION = {
	id: "chatcmpl-bench",
	object: "chat.completion",
	created: 1,
	model: "bench",
	choices: [
		{ index: 0, message: { role: "assistant", content: "The answer is forty-two." }, finish_reason: "stop" },
	],
	usage: { prompt_tokens: 20, completion_tokens: 6, total_tokens: 26 },
};
