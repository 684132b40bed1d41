import { useCallback, useEffect, useRef, useState } from "react";
import type { FoundChunk } from "../api/types.ts";
import { callChat } from "../playground/chat-call.ts";
import type { Metrics } from "../playground/metrics.ts";
import { useSession } from "../session/session.ts";

interface Retrieval {
	retrieval_type: string;
	keyword_match_mode: string;
}

interface State {
	isAsking: boolean;
	/** As far as it has arrived. */
	answer?: string;
	chunks?: readonly FoundChunk[];
	/** The scores compare words, not meanings. */
	isLexical?: boolean;
	/** An earlier answer to the same or a similar question. */
	isCached?: boolean;
	metrics?: Metrics;
	error?: Error;
}

const CHUNKS = "chunks";

/** Asks an instance, whose path it is. A new question ends the one before. */
export function useQuestion(path: string) {
	const { api } = useSession();
	const [state, setState] = useState<State>({ isAsking: false });
	const running = useRef<AbortController>(undefined);
	useEffect(() => () => running.current?.abort(), []);

	const ask = useCallback(
		async (question: string, retrieval: Retrieval) => {
			running.current?.abort();
			const abort = new AbortController();
			running.current = abort;
			setState({ isAsking: true });
			const change = (changes: Partial<State>): void => {
				if (running.current === abort) setState((before) => ({ ...before, ...changes }));
			};
			try {
				const metrics = await callChat(api, {
					path: `${path}/chat/completions`,
					request: {
						// The instance has the model.
						model: "",
						messages: [{ role: "user", content: question }],
						stream: true,
						stream_options: { include_usage: true },
						ai_search_options: { retrieval },
					},
					signal: abort.signal,
					onHeaders: (headers) =>
						change({
							isLexical: headers.get("x-ganglion-scores") === "lexical",
							isCached: headers.get("cf-aig-cache-status") === "HIT",
						}),
					onEvent: (name, data) => name === CHUNKS && change({ chunks: data as FoundChunk[], answer: "" }),
					onAnswer: ({ text }) => change({ answer: text }),
				});
				change({ metrics });
			} catch (error) {
				if (!abort.signal.aborted && error instanceof Error) change({ error });
			}
			change({ isAsking: false });
		},
		[api, path],
	);
	return {
		...state,
		ask: (question: string, retrieval: Retrieval) => void ask(question, retrieval),
		stop: () => running.current?.abort(),
	};
}
