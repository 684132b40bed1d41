/** A query of an index. A text becomes a vector by a model, as a request of the account. */
import { useCallback, useState } from "react";
import { type Api, pathOfModel } from "../api/client.ts";
import { errorOf } from "../api/error-of.ts";
import type { StoredVector, VectorMatch } from "../api/types.ts";
import { useSession } from "../session/session.ts";

export interface VectorQuery {
	text?: string;
	/** Of the text. */
	model?: string;
	vector?: readonly number[];
	vectorId?: string;
	topK: number;
	namespace?: string;
	filter?: unknown;
	returnMetadata: "all";
	returnValues: boolean;
}

interface State {
	isAsking: boolean;
	matches?: readonly VectorMatch[];
	/** The vector that was searched. */
	vector?: readonly number[] | undefined;
	/** Of the search, without the embedding. */
	milliseconds?: number;
	error?: Error;
}

export function useVectorQuery(path: string) {
	const { api } = useSession();
	const [state, setState] = useState<State>({ isAsking: false });
	const ask = useCallback(
		async ({ model, text, ...query }: VectorQuery) => {
			setState((before) => ({ ...before, isAsking: true }));
			try {
				const vector = await vectorOf({ model, text, ...query }, path, api);
				const searched = query.vectorId === undefined ? { vector } : {};
				const begun = performance.now();
				const found = await api.send<{ matches: VectorMatch[] }>("POST", `${path}/query`, {
					...query,
					...searched,
				});
				const milliseconds = performance.now() - begun;
				setState({ isAsking: false, matches: found.matches, vector, milliseconds });
			} catch (error) {
				setState({ isAsking: false, error: errorOf(error) });
			}
		},
		[api, path],
	);
	return { ...state, ask };
}

async function vectorOf(
	{ model = "", text, vector, vectorId }: Partial<VectorQuery>,
	path: string,
	api: Api,
): Promise<readonly number[] | undefined> {
	if (vector) return vector;
	if (vectorId !== undefined) {
		const [stored] = await api.send<StoredVector[]>("POST", `${path}/get_by_ids`, { ids: [vectorId] });
		return stored?.values;
	}
	const run = api.account(`/ai/run/${pathOfModel(model)}`);
	const { data } = await api.send<{ data?: number[][] }>("POST", run, { text: [text] });
	const [values] = data ?? [];
	if (!values) throw new Error(`${model} has answered without a vector`);
	return values;
}
