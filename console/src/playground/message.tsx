import type { ChatMessage } from "../api/types.ts";
import type { ChatAnswer } from "./chat-call.ts";

const NAMES: Readonly<Record<ChatMessage["role"], string>> = {
	system: "System",
	user: "You",
	assistant: "Model",
	tool: "Tool",
};

export function Message({ message }: { message: ChatMessage }) {
	const { role, content, tool_calls = [] } = message;
	const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
	return (
		<article className={`message ${role}`} aria-label={NAMES[role]}>
			<strong>{NAMES[role]}</strong>
			{parts.map((part) =>
				part.type === "text" ? (
					part.text && <p key="text">{part.text}</p>
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
export function Answer({ answer: { text, reasoning, toolCalls } }: { answer: ChatAnswer }) {
	return (
		<article className="message assistant" aria-label="Answer under way">
			<strong>Model</strong>
			{reasoning && (
				<details open={!text}>
					<summary>Reasoning</summary>
					<p>{reasoning}</p>
				</details>
			)}
			<p>{text || (toolCalls.length === 0 && !reasoning ? "…" : "")}</p>
			{toolCalls.map(({ id, function: { name, arguments: input } }) => (
				<pre key={id}>
					{name}({input})
				</pre>
			))}
		</article>
	);
}
