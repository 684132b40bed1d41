/**
 * Searches of an answer that also calls tools of the caller. The formats of OpenAI and Google have no place for their results, so the
 * first call of the caller has them in a seal (`src/backends/seals.ts`), in the field that clients send back for reasoning. With the
 * results of the caller's tools, the model receives its searches again. A client that drops the field loses the searches, not the turn.
 */
import { callSeal } from "../../backends/sealed-messages.ts";
import { AccountSeals } from "../../backends/seals.ts";
import { withChatInput } from "../../dialects/chat/call.ts";
import { sealOfField } from "../../dialects/chat/sealed.ts";
import type { Dialect } from "../../dialects/dialect.ts";
import type { ChatMessage, ThinkingBlock, ToolCall } from "../../tasks/text-generation/types.ts";
import type { SearchServices } from "../services.ts";

/** A call, and its position among all calls of its message. */
export interface PlacedCall {
	at: number;
	call: ToolCall;
}

/** No backend has this name, so the pipeline opens no such seal. */
const TARGET = { backend: "gateway:web-search", model: "" };

/** What the model needs again. Only this file makes it: the seal is authenticated. */
interface SealedSearches {
	/** The rounds before the call of the caller's tools. */
	before: readonly ChatMessage[];
	/** The searches beside the caller's calls. */
	calls: readonly PlacedCall[];
	results: readonly ChatMessage[];
}

export class SearchSeals {
	readonly #seals: AccountSeals;

	private constructor(seals: AccountSeals) {
		this.#seals = seals;
	}

	/** `undefined`: the key of seals is not available, and results cannot be carried. */
	static async load(account: string, { sealKey }: SearchServices): Promise<SearchSeals | undefined> {
		const key = await sealKey?.();
		return key && new SearchSeals(new AccountSeals({ key, account, target: TARGET, dropped: [] }));
	}

	/** The rounds before a call of the caller's tools. Their texts are in the answer itself. */
	ofRounds(messages: readonly ChatMessage[]): string {
		if (messages.length === 0) return "";
		const before = messages.map((message) => {
			if (message.role !== "assistant") return message;
			const { reasoning_content: _, ...others } = message;
			return { ...others, content: null };
		});
		return this.#seal({ before, calls: [], results: [] });
	}

	/** The searches beside the caller's calls. */
	ofCalls(calls: readonly PlacedCall[], results: readonly ChatMessage[]): string {
		return calls.length === 0 ? "" : this.#seal({ before: [], calls, results });
	}

	#seal(searches: SealedSearches): string {
		return this.#seals.seal(searches) ?? "";
	}

	/** The conversation with the searches that the caller sends back in seals. */
	restore(messages: readonly ChatMessage[]): ChatMessage[] {
		return messages.flatMap((message) =>
			message.role === "assistant" ? this.#restored(message) : [message],
		);
	}

	#restored(message: ChatMessage): ChatMessage[] {
		const searches = new Map<string, SealedSearches[]>();
		/** Returns the other seals of a field. */
		const take = (text: string): string => {
			const { values, others } = this.#seals.take(text);
			// A caller may send one seal in several fields.
			if (values.length > 0) searches.set(JSON.stringify(values), values as SealedSearches[]);
			return others;
		};
		const thinking_blocks = message.thinking_blocks?.flatMap((block) => withoutSeals(block, take));
		const unsealed = <Field extends Pick<ToolCall, "extra_content">>({
			extra_content,
			...fields
		}: Field) => ({
			...fields,
			...callSeal(take(sealOfField(extra_content))),
		});
		const { thinking_blocks: _, tool_calls: sent, ...others } = unsealed(message);
		const tool_calls = sent?.map(unsealed) ?? [];
		const found = [...searches.values()].flat();
		if (found.length === 0) return [message];
		const placed = found.flatMap(({ calls }) => calls).sort((one, other) => one.at - other.at);
		for (const { at, call } of placed) tool_calls.splice(at, 0, call);
		return [
			...found.flatMap(({ before }) => before),
			{
				...others,
				...(thinking_blocks?.length && { thinking_blocks }),
				...(tool_calls.length > 0 && { tool_calls }),
			} as ChatMessage,
			...found.flatMap(({ results }) => results),
		];
	}
}

/** The fields of a call or a message, with a further seal. */
export const joinSeal = <Fields extends Pick<ToolCall, "extra_content">>(
	fields: Fields,
	seal: string,
): Fields => (seal ? { ...fields, ...callSeal(sealOfField(fields.extra_content) + seal) } : fields);

function withoutSeals(block: ThinkingBlock, take: (text: string) => string): ThinkingBlock[] {
	const { signature, data } = block;
	const sent = signature || data;
	if (!sent) return [block];
	const others = take(sent);
	if (others === sent) return [block];
	if (block.type === "thinking") return [{ ...block, signature: others }];
	return others ? [{ ...block, data: others }] : [];
}

/** A dialect whose requests have their searches again. */
export function restoring({ reader, writer }: Dialect, seals: SearchSeals | undefined): Dialect {
	if (!seals) return { reader, writer };
	const read: typeof reader.read = (...sent) =>
		withChatInput(reader.read(...sent), (input) => ({ ...input, messages: seals.restore(input.messages) }));
	return { reader: { ...reader, read }, writer };
}
