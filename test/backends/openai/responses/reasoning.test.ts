/** Reasoning in the answers of a Responses API: https://platform.openai.com/docs/api-reference/responses. */
import { expect, it } from "vitest";
import { createApp } from "../../../../src/app.ts";
import { BASE, OPEN_ACCESS, testServices } from "../../../gateway.ts";

const thought = (id: string, text: string) => ({
	...{ id, type: "reasoning" },
	summary: [{ type: "summary_text", text }],
});
const OUTPUT = [
	thought("rs_1", "First."),
	thought("rs_2", "Second."),
	{ id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text: "Hi" }] },
];

/** A service that sends items when they are complete. */
async function answered(
	stream: boolean,
	fields: object = {},
): Promise<{ reasoning: string; dropped: string | null }> {
	const response = {
		id: "resp_1",
		status: "completed",
		model: "gpt-6-astra",
		created_at: 1,
		output: OUTPUT,
		...fields,
	};
	const events = [
		{ type: "response.created", response: { ...response, status: "in_progress", output: [] } },
		...OUTPUT.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
		{ type: "response.completed", response },
	];
	const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
	const services = testServices({
		vars: {
			BACKENDS: { openai: { kind: "openai", url: "https://api.openai.com/v1", api: "responses" } },
			ROUTES: { "gpt-*": [{ backend: "openai" }] },
		},
		fetch: async () =>
			stream
				? new Response(text, { headers: { "content-type": "text/event-stream" } })
				: Response.json(response),
	});
	const sent = await createApp(services, OPEN_ACCESS).request(`${BASE}/v1/chat/completions`, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify({ model: "gpt-6-astra", stream, messages: [{ role: "user", content: "Hello" }] }),
	});
	const dropped = sent.headers.get("x-ganglion-dropped");
	const body = await sent.text();
	const parts = stream
		? body.split("\n\n").filter((event) => event.startsWith("data: {"))
		: [`data: ${body}`];
	const reasoning = parts.map((part) => {
		const { choices } = JSON.parse(part.slice("data: ".length)) as {
			choices: { delta?: { reasoning_content?: string }; message?: { reasoning_content?: string } }[];
		};
		const [choice] = choices;
		return (choice?.message ?? choice?.delta)?.reasoning_content ?? "";
	});
	return { reasoning: reasoning.join(""), dropped };
}

it.each([false, true])("of several items has a blank line between them, stream: %s", async (stream) => {
	expect(await answered(stream)).toEqual({ reasoning: "First.\n\nSecond.", dropped: null });
});

it.each([false, true])("that the service has discarded is named as dropped, stream: %s", async (stream) => {
	const removed = { id: "rs_0", action: "removed", type: "reasoning", reason: "organization_mismatch" };
	const { dropped } = await answered(stream, { input_transformations: [removed] });
	expect(dropped).toBe("reasoning.signature");
});
