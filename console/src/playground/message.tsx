import type { ChatMessage } from "../api/types.ts";
import { AnswerText } from "./answer-text.tsx";
import type { ChatAnswer } from "./chat-call.ts";

const NAMES: Readonly<Record<ChatMessage["role"], string>> = {
	system: "System",
	user: "You",
	assistant: "Model",
	tool: "Tool",
};

interface MessageProps {
	message: ChatMessage;
	/** Shows the Markdown of the model as it is. */
	raw: boolean;
}

export function Message({ message, raw }: MessageProps) {
	const { role, content, tool_calls = [] } = message;
	const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
	return (
		<article className={`message ${role}`} aria-label={NAMES[role]}>
			<strong>{NAMES[role]}</strong>
			{parts.map((part) =>
				part.type === "text" ? (
					part.text && <AnswerText key="text" text={part.text} raw={raw || role !== "assistant"} />
				) : (
					<img key="image" src={part.image_url.url} alt="Attached by you" />
				),
			)}
			{tool_calls.map(({ id, function: { name, arguments: input } }) => (
				<pre key={id}>
					{name}({input})
				</pre>
			))}
		</article>
	);
}

/** An answer that is still arriving. */
export function Answer({ answer, raw }: { answer: ChatAnswer; raw: boolean }) {
	const { text, reasoning, toolCalls } = answer;
	return (
		<article className="message assistant" aria-label="Answer under way">
			<strong>Model</strong>
			{reasoning && (
				<details open={!text}>
					<summary>Reasoning</summary>
					<p>{reasoning}</p>
				</details>
			)}
			{text ? <AnswerText text={text} raw={raw} /> : toolCalls.length === 0 && !reasoning && <p>…</p>}
			{toolCalls.map(({ id, function: { name, arguments: input } }) => (
				<pre key={id}>
					{name}({input})
				</pre>
			))}
		</article>
	);
}
