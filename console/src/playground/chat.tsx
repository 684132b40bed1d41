import { Button } from "@cloudflare/kumo/components/button";
import { InputArea } from "@cloudflare/kumo/components/input";
import { type FormEvent, useState } from "react";
import type { ChatMessage, ModelRow } from "../api/types.ts";
import { capabilitiesOf } from "../models/facts.ts";
import { Failure } from "../parts/failure.tsx";
import { useSession } from "../session/session.ts";
import {
	type ChatSettings,
	ChatSettingsForm,
	exampleOptions,
	INITIAL_SETTINGS,
	optionsOf,
} from "./chat-settings.tsx";
import { CopyAs } from "./copy-as.tsx";
import { dataUrlOf, FileField } from "./file-field.tsx";
import { Answer, Message } from "./message.tsx";
import { MetricsLine } from "./metrics-line.tsx";
import { useChat } from "./use-chat.ts";

export function Chat({ model }: { model: ModelRow }) {
	const { api } = useSession();
	const chat = useChat();
	const [settings, setSettings] = useState<ChatSettings>(INITIAL_SETTINGS);
	const [text, setText] = useState("");
	const [image, setImage] = useState<File>();
	const [problem, setProblem] = useState<Error>();
	const capabilities = capabilitiesOf(model);
	const last = chat.messages.at(-1);
	const pending = last?.tool_calls?.[0];

	async function submit(event: FormEvent): Promise<void> {
		event.preventDefault();
		try {
			const message: ChatMessage = pending
				? { role: "tool", tool_call_id: pending.id, content: text }
				: { role: "user", content: image ? await withImage(text, image) : text };
			setProblem(undefined);
			chat.send(message, { model: model.name, ...optionsOf(settings) });
			setText("");
			setImage(undefined);
		} catch (error) {
			setProblem(error instanceof Error ? error : new Error(String(error)));
		}
	}

	const messages = chat.messages.length > 0 ? chat.messages : [{ role: "user", content: text }];
	return (
		<div className="chat">
			<div className="stack">
				<div className="conversation" aria-live="polite" aria-busy={chat.partial !== undefined}>
					{chat.messages.map((message, index) => (
						// biome-ignore lint/suspicious/noArrayIndexKey: messages are only added at the end.
						<Message key={index} message={message} />
					))}
					{chat.partial && <Answer answer={chat.partial} />}
				</div>
				{(problem ?? chat.error) && <Failure error={problem ?? chat.error ?? new Error()} />}
				{chat.metrics && <MetricsLine metrics={chat.metrics} />}
				<form className="stack" onSubmit={(event) => void submit(event)}>
					<InputArea
						label={pending ? `Result of ${pending.function.name}` : "Message"}
						value={text}
						onValueChange={setText}
						required
						minRows={2}
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
							onClick={chat.clear}
						>
							Clear
						</Button>
					</div>
				</form>
				<CopyAs
					model={model.name}
					input={{ messages, ...exampleOptions(settings) }}
					account={api.credentials.account}
				/>
			</div>
			<ChatSettingsForm settings={settings} tools={capabilities.includes("Tools")} onChange={setSettings} />
		</div>
	);
}

const withImage = async (text: string, image: File): Promise<ChatMessage["content"]> => [
	{ type: "text", text },
	{ type: "image_url", image_url: { url: await dataUrlOf(image) } },
];
