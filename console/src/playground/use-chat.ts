import { useCallback, useEffect, useRef, useState } from "react";
import type { ChatMessage, ChatRequest } from "../api/types.ts";
import { useSession } from "../session/session.ts";
import { type ChatAnswer, callChat, NO_ANSWER } from "./chat-call.ts";
import type { Metrics } from "./metrics.ts";

export interface ChatOptions extends Omit<ChatRequest, "messages"> {
	/** The messages to send for the conversation. */
	sent(messages: readonly ChatMessage[]): ChatMessage[];
}

export interface Chat {
	messages: readonly ChatMessage[];
	/** The answer under way. */
	partial?: ChatAnswer;
	metrics?: Metrics;
	error?: Error;
	/** Sends the conversation with a new message. */
	send(message: ChatMessage, options: ChatOptions): void;
	/** Sends the conversation again, after a failure. */
	retry(options: ChatOptions): void;
	/** Ends the answer; what has arrived stays. */
	stop(): void;
	clear(): void;
}

interface State {
	messages: ChatMessage[];
	partial?: ChatAnswer;
	metrics?: Metrics;
	error?: Error;
}

const EMPTY: State = { messages: [] };

export function useChat(): Chat {
	const { api } = useSession();
	const [state, setState] = useState<State>(EMPTY);
	const running = useRef<AbortController>(undefined);

	// A page that is left needs no answer.
	useEffect(() => () => running.current?.abort(), []);

	const call = useCallback(
		async ({ messages, sent, model, ...options }: ChatRequest & ChatOptions) => {
			const abort = new AbortController();
			running.current = abort;
			let answer = NO_ANSWER;
			setState({ messages, partial: answer });
			const end = (result: Pick<State, "metrics" | "error">): void =>
				setState({ messages: answer === NO_ANSWER ? messages : [...messages, messageOf(answer)], ...result });
			try {
				const metrics = await callChat(api, {
					request: { model, messages: sent(messages), ...options },
					signal: abort.signal,
					onAnswer(partial) {
						answer = partial;
						setState({ messages, partial });
					},
				});
				end({ metrics });
			} catch (error) {
				end(abort.signal.aborted || !(error instanceof Error) ? {} : { error });
			}
		},
		[api],
	);

	return {
		...state,
		send: (message, options) => void call({ ...options, messages: [...state.messages, message] }),
		retry: (options) => void call({ ...options, messages: [...state.messages] }),
		stop: useCallback(() => running.current?.abort(), []),
		clear: useCallback(() => setState(EMPTY), []),
	};
}

const messageOf = ({ text, toolCalls }: ChatAnswer): ChatMessage => ({
	role: "assistant",
	content: text,
	...(toolCalls.length > 0 && { tool_calls: toolCalls }),
});
