import { Button } from "@cloudflare/kumo/components/button";
import { InputArea } from "@cloudflare/kumo/components/input";
import { Switch } from "@cloudflare/kumo/components/switch";
import { useId, useRef, useState } from "react";
import { errorOf } from "../api/error-of.ts";
import type { ChatMessage, ModelRow } from "../api/types.ts";
import { capabilitiesOf, isFree } from "../models/facts.ts";
import { Failure } from "../parts/failure.tsx";
import { Section } from "../parts/page.tsx";
import {
	type ChatSettings,
	ChatSettingsForm,
	exampleOptions,
	INITIAL_SETTINGS,
	optionsOf,
	withSystem,
} from "./chat-settings.tsx";
import { CopyAs } from "./copy-as.tsx";
import { dataUrlOf, FileField } from "./file-field.tsx";
import { Answer, Message } from "./message.tsx";
import { MetricsLine } from "./metrics-line.tsx";
import { type ChatOptions, useChat } from "./use-chat.ts";

export function Chat({ model }: { model: ModelRow }) {
	const chat = useChat();
	const [settings, setSettings] = useState<ChatSettings>(INITIAL_SETTINGS);
	const [text, setText] = useState("");
	const [image, setImage] = useState<File>();
	const [problem, setProblem] = useState<Error>();
	const [raw, setRaw] = useState(false);
	const hint = useId();
	const form = useRef<HTMLFormElement>(null);
	/** The button that stops the answer. The one that began it is removed. */
	const focusStop = (): void => form.current?.querySelector<HTMLElement>(".buttons button")?.focus();
	const clear = (): void => {
		chat.clear();
		form.current?.querySelector("textarea")?.focus();
	};
	const capabilities = capabilitiesOf(model);
	const last = chat.messages.at(-1);
	const pending = last?.tool_calls?.[0];

	/** Throws if a setting is not valid. */
	const options = (): ChatOptions => ({
		model: model.name,
		sent: (messages) => withSystem(settings, messages),
		...optionsOf(settings),
	});

	async function attempt(work: () => void | Promise<void>): Promise<void> {
		setProblem(undefined);
		try {
			await work();
		} catch (error) {
			setProblem(errorOf(error));
		}
	}

	async function submit(): Promise<void> {
		const message: ChatMessage = pending
			? { role: "tool", tool_call_id: pending.id, content: text }
			: { role: "user", content: image ? await withImage(text, image) : text };
		chat.send(message, options());
		setText("");
		setImage(undefined);
	}

	/** An answer that was interrupted is in the conversation already. */
	const canRetry = last?.role !== "assistant";
	const retry = (): void => {
		focusStop();
		void attempt(() => chat.retry(options()));
	};
	const begin = (content: string): void => {
		focusStop();
		void attempt(() => chat.send({ role: "user", content }, options()));
	};

	const conversation: readonly ChatMessage[] =
		chat.messages.length > 0 ? chat.messages : [{ role: "user", content: text || "Hello, who are you?" }];
	const messages = withSystem(settings, conversation);
	return (
		<div className="chat">
			<div className="stack">
				{chat.messages.length === 0 ? (
					<Suggestions onChoose={begin} />
				) : (
					<div className="conversation-options">
						<Switch
							label="Render Markdown"
							size="sm"
							checked={!raw}
							onCheckedChange={(rendered) => setRaw(!rendered)}
						/>
					</div>
				)}
				<div className="conversation" aria-live="polite" aria-busy={chat.partial !== undefined}>
					{chat.messages.map((message, index) => (
						// biome-ignore lint/suspicious/noArrayIndexKey: messages are only added at the end.
						<Message key={index} message={message} raw={raw} />
					))}
					{chat.partial && <Answer answer={chat.partial} raw={raw} />}
				</div>
				{problem && <Failure error={problem} />}
				{chat.error && !problem && <Failure error={chat.error} onRetry={canRetry ? retry : undefined} />}
				{chat.metrics && <MetricsLine metrics={chat.metrics} free={isFree(model)} />}
				<form
					ref={form}
					className="card stack"
					onSubmit={(event) => {
						event.preventDefault();
						void attempt(submit);
					}}
				>
					<InputArea
						label={pending ? `Result of ${pending.function.name}` : "Message"}
						value={text}
						onValueChange={setText}
						required
						minRows={2}
						aria-describedby={hint}
						onKeyDown={(event) => {
							if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
								event.preventDefault();
								event.currentTarget.form?.requestSubmit();
							}
						}}
					/>
					{capabilities.includes("Vision") && !pending && (
						<FileField label="Image" accept="image/*" file={image} onFile={setImage} />
					)}
					<div className="buttons">
						{chat.partial ? (
							<Button type="button" variant="destructive" onClick={chat.stop}>
								Stop
							</Button>
						) : (
							<Button type="submit" variant="primary">
								Send
							</Button>
						)}
						<Button
							type="button"
							disabled={chat.messages.length === 0 || chat.partial !== undefined}
							onClick={clear}
						>
							Clear
						</Button>
						<span id={hint} className="subtle hint">
							Enter sends. Shift+Enter starts a line.
						</span>
					</div>
				</form>
				<Section title="Copy as">
					<CopyAs model={model} input={{ fields: { messages, ...exampleOptions(settings) }, files: [] }} />
				</Section>
			</div>
			<ChatSettingsForm settings={settings} tools={capabilities.includes("Tools")} onChange={setSettings} />
		</div>
	);
}

const SUGGESTIONS = [
	"Explain Durable Objects in two sentences.",
	"Write a haiku about the edge of a network.",
	"List three uses of text embeddings.",
];

/** Messages for an empty conversation. */
const Suggestions = ({ onChoose }: { onChoose: (text: string) => void }) => (
	<section className="empty" aria-label="Examples">
		<p>Send a message, or begin with an example:</p>
		<div className="buttons">
			{SUGGESTIONS.map((text) => (
				<Button key={text} size="sm" onClick={() => onChoose(text)}>
					{text}
				</Button>
			))}
		</div>
	</section>
);

const withImage = async (text: string, image: File): Promise<ChatMessage["content"]> => [
	{ type: "text", text },
	{ type: "image_url", image_url: { url: await dataUrlOf(image) } },
];
