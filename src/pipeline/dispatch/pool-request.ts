/** A call in the terms of a pool: its tokens, the blocks of its prompt, and its conversation. */
import { BLOCK_CHARACTERS, hashPrompt } from "../../pools/block-hashes.ts";
import type { PoolRequest } from "../../pools/choice.ts";
import type { TaskCall } from "../../tasks/task.ts";
import { definitionOf, isStreamed, splitChoices } from "../../tasks/traits.ts";
import type { PooledTarget } from "../plan.ts";

/** Typical for English text. The choice compares replicas for one request, so a common factor does not change it much. */
const CHARACTERS_PER_TOKEN = 4;

interface PoolConversation {
	account: string;
	/** The session that the caller named, scoped by the account. */
	session?: string;
	/** The stream passes unread, so its first token is not observed. */
	passedThrough: boolean;
}

/** For a call that could not be parsed. */
export const EMPTY_REQUEST: PoolRequest = { inputTokens: 0, blocks: [], blockTokens: 512, streamed: false };

export function poolRequestOf(
	call: TaskCall,
	{ model, pool }: Pick<PooledTarget, "model" | "pool">,
	{ account, session, passedThrough }: PoolConversation,
): PoolRequest {
	const prompt = definitionOf(call).prompt?.(call.input);
	const maxOutputTokens = definitionOf(call).outputLimit?.(call.input);
	const request = {
		...(prompt?.adapter !== undefined && { adapter: prompt.adapter }),
		blockTokens: BLOCK_CHARACTERS / CHARACTERS_PER_TOKEN,
		streamed: isStreamed(call) && !passedThrough,
		...splitChoices(call),
		...(maxOutputTokens !== undefined && { maxOutputTokens }),
	};
	if (!prompt) return { ...request, inputTokens: 0, blocks: [], ...(session && { session }) };
	const { texts, openingTexts, mediaTokens, adapter } = prompt;
	const characters = texts.reduce((sum, { length }) => sum + length, 0);
	const inputTokens = Math.ceil(characters / CHARACTERS_PER_TOKEN) + mediaTokens;
	if (openingTexts === 0) return { ...request, inputTokens, blocks: [], ...(session && { session }) };
	const weights = adapter === undefined ? model : `${model} ${adapter}`;
	const scope = pool.settings.sharedPrompts ? weights : `${account} ${weights}`;
	const { blocks, opening } = hashPrompt(scope, texts, openingTexts);
	// Agents without a session header repeat their system prompt and the first message in every request.
	return { ...request, inputTokens, blocks, opening, session: session ?? `${account} #${opening}` };
}
