/** The AI SDK's default provider, `createOpenAI()(model)`: its second turn refers to stored items. */
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, type ModelMessage, stepCountIs, streamText, tool } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import { BASE, completion, ENGINE_VARS, testGateway, upstream } from "../../gateway.ts";

const reasoned = (message: object, finish_reason = "stop") => ({
	...completion(""),
	choices: [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason }],
});

it("goes on after a tool call and in a second turn of a reasoning model", async () => {
	const call = { id: "call_1", type: "function", function: { name: "clock", arguments: "{}" } };
	const replies = [
		reasoned({ reasoning_content: "I need the time.", tool_calls: [call] }, "tool_calls"),
		reasoned({ reasoning_content: "It is noon.", content: "Noon." }),
		reasoned({ content: "You are welcome." }),
	];
	const { fetch, requests } = upstream(() => Response.json(replies[requests.length - 1]));
	const { app } = testGateway({ vars: ENGINE_VARS, fetch });
	const sent: string[] = [];
	const openai = createOpenAI({
		apiKey: "none",
		baseURL: `${BASE}/v1`,
		fetch: async (url, init) => {
			sent.push(String(init?.body));
			return app.request(String(url), init);
		},
	});
	const model = openai("gpt-5.6-sol");
	const tools = { clock: tool({ inputSchema: z.object({}), execute: async () => "12:00" }) };
	const messages: ModelMessage[] = [{ role: "user", content: "What time is it?" }];
	const first = await generateText({ model, tools, messages, stopWhen: stepCountIs(3) });
	expect(first.text).toBe("Noon.");
	const second = await generateText({
		model,
		tools,
		messages: [...messages, ...first.response.messages, { role: "user", content: "Thanks." }],
	});
	expect(second.text).toBe("You are welcome.");
	expect(sent[1]).toContain("item_reference");
	const roles = async (index: number) =>
		(await requests[index]?.clone().json<{ messages: { role: string }[] }>())?.messages.map(
			({ role }) => role,
		);
	expect(await roles(1)).toEqual(["user", "assistant", "tool"]);
	// `response.messages` has those of the last step.
	expect(sent[2]).toContain("item_reference");
	expect(await roles(2)).toEqual(["user", "assistant", "user"]);
});

it.each(["whole", "streamed"])("goes on for ten turns with tools and reasoning, %s", async (form) => {
	let replies = 0;
	const { fetch, requests } = upstream(() => {
		const turn = Math.floor(replies / 2);
		const call = { id: `call_${turn}`, type: "function", function: { name: "clock", arguments: "{}" } };
		const isCall = replies++ % 2 === 0;
		const message = isCall
			? { reasoning_content: `I need the time (${turn}).`, tool_calls: [{ index: 0, ...call }] }
			: { reasoning_content: `It is noon (${turn}).`, content: `Noon (${turn}).` };
		const finish_reason = isCall ? "tool_calls" : "stop";
		if (form === "whole") return Response.json(reasoned(message, finish_reason));
		const common = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "gpt-5.6-sol" };
		const chunk = (choice: object) =>
			`data: ${JSON.stringify({ ...common, choices: [{ index: 0, finish_reason: null, ...choice }] })}\n\n`;
		const chunks = [chunk({ delta: message }), chunk({ delta: {}, finish_reason }), "data: [DONE]\n\n"];
		return new Response(chunks.join(""), { headers: { "content-type": "text/event-stream" } });
	});
	const { app } = testGateway({ vars: ENGINE_VARS, fetch });
	const openai = createOpenAI({
		apiKey: "none",
		baseURL: `${BASE}/v1`,
		fetch: async (url, init) => app.request(String(url), init),
	});
	const options = {
		model: openai("gpt-5.6-sol"),
		tools: { clock: tool({ inputSchema: z.object({}), execute: async () => "12:00" }) },
		stopWhen: stepCountIs(3),
	};
	const messages: ModelMessage[] = [];
	const history: string[] = [];
	for (let turn = 0; turn < 10; turn++) {
		messages.push({ role: "user", content: `What time is it (${turn})?` });
		const result =
			form === "whole" ? await generateText({ ...options, messages }) : streamText({ ...options, messages });
		expect(await result.text).toBe(`Noon (${turn}).`);
		for (const step of await result.steps) messages.push(...step.response.messages);
		history.push(`user What time is it (${turn})?`, `assistant call_${turn}`, `tool call_${turn}`);
		if (turn < 9) history.push(`assistant Noon (${turn}).`);
	}
	interface Sent {
		role: string;
		content: string | { text: string }[] | null;
		tool_calls?: { id: string }[];
		tool_call_id?: string;
	}
	const last = await requests.at(-1)?.clone().json<{ messages: Sent[] }>();
	const textOf = ({ content, tool_call_id, tool_calls }: Sent) =>
		tool_calls?.[0]?.id ?? tool_call_id ?? (typeof content === "string" ? content : content?.[0]?.text);
	expect(last?.messages.map((message) => `${message.role} ${textOf(message)}`)).toEqual(history);
	expect(requests).toHaveLength(20);
});
