import { Input, InputArea } from "@cloudflare/kumo/components/input";
import { Switch } from "@cloudflare/kumo/components/switch";
import type { ChatMessage, ChatRequest } from "../api/types.ts";
import { Section } from "../parts/page.tsx";

/** As entered: numbers and JSON are text until the request is made. */
export interface ChatSettings {
	/** The system prompt. */
	system: string;
	stream: boolean;
	maxTokens: string;
	temperature: string;
	tools: string;
	schema: string;
}

export const INITIAL_SETTINGS: ChatSettings = {
	system: "",
	stream: true,
	maxTokens: "",
	temperature: "",
	tools: "",
	schema: "",
};

const TOOLS_EXAMPLE =
	'[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]';
const SCHEMA_EXAMPLE = '{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}';

/** The fields of a request. Throws an error with the name of a setting that is not JSON. */
export function optionsOf({
	stream,
	maxTokens,
	temperature,
	tools,
	schema,
}: ChatSettings): Omit<ChatRequest, "messages" | "model"> {
	return {
		...(stream && { stream, stream_options: { include_usage: true } }),
		...(maxTokens !== "" && { max_tokens: Number(maxTokens) }),
		...(temperature !== "" && { temperature: Number(temperature) }),
		...(tools.trim() !== "" && { tools: parsed("Tools", tools) }),
		...(schema.trim() !== "" && {
			response_format: {
				type: "json_schema",
				json_schema: { name: "answer", schema: parsed("JSON schema", schema) },
			},
		}),
	};
}

/** The messages, after the system prompt if there is one. */
export const withSystem = (
	{ system }: Pick<ChatSettings, "system">,
	messages: readonly ChatMessage[],
): ChatMessage[] =>
	system.trim() === "" ? [...messages] : [{ role: "system", content: system }, ...messages];

/** The fields for an example of the call. Settings that are not complete are left out. */
export function exampleOptions(settings: ChatSettings): Partial<ChatRequest> {
	try {
		const { stream: _, stream_options: __, ...options } = optionsOf(settings);
		return options;
	} catch {
		return {};
	}
}

function parsed(name: string, text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw new Error(`${name}: expected JSON`);
	}
}

interface Props {
	settings: ChatSettings;
	/** Whether the model accepts tools. */
	tools: boolean;
	onChange(settings: ChatSettings): void;
}

export function ChatSettingsForm({ settings, tools, onChange }: Props) {
	const set = (changed: Partial<ChatSettings>): void => onChange({ ...settings, ...changed });
	return (
		<Section title="Settings">
			<InputArea
				label="System prompt"
				placeholder="Answer in one sentence."
				minRows={2}
				value={settings.system}
				onValueChange={(system) => set({ system })}
			/>
			<Switch label="Stream" checked={settings.stream} onCheckedChange={(stream) => set({ stream })} />
			<Input
				label="Maximum output tokens"
				placeholder="The model's default"
				type="number"
				min={1}
				value={settings.maxTokens}
				onChange={(event) => set({ maxTokens: event.target.value })}
			/>
			<Input
				label="Temperature"
				placeholder="The model's default"
				type="number"
				min={0}
				max={5}
				step={0.1}
				value={settings.temperature}
				onChange={(event) => set({ temperature: event.target.value })}
			/>
			{tools && (
				<InputArea
					label="Tools (JSON)"
					placeholder={TOOLS_EXAMPLE}
					rows={5}
					value={settings.tools}
					onValueChange={(text) => set({ tools: text })}
				/>
			)}
			<InputArea
				label="JSON schema of the answer"
				placeholder={SCHEMA_EXAMPLE}
				minRows={3}
				value={settings.schema}
				onValueChange={(schema) => set({ schema })}
			/>
		</Section>
	);
}
