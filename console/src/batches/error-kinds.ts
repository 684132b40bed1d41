/** Counts the lines of a file of errors by their kind, while the file arrives. */

export interface ErrorKind {
	/** Such as `HTTP 408, 3046`, or `batch_expired`. */
	kind: string;
	lines: number;
	/** Of the first line. */
	message: string;
}

interface ErrorLine {
	response: {
		status_code: number;
		body: { errors?: { code: number; message: string }[]; error?: { code?: unknown; message?: string } };
	} | null;
	error: { code: string; message: string } | null;
}

/** The most frequent first. */
export async function errorKinds(body: ReadableStream<Uint8Array>): Promise<ErrorKind[]> {
	const kinds = new Map<string, ErrorKind>();
	const add = (text: string): void => {
		if (text === "") return;
		const { kind, message } = kindOf(JSON.parse(text) as ErrorLine);
		const known = kinds.get(kind) ?? { kind, lines: 0, message };
		kinds.set(kind, { ...known, lines: known.lines + 1 });
	};
	const decoder = new TextDecoder();
	const reader = body.getReader();
	let rest = "";
	for (;;) {
		const { value, done } = await reader.read();
		const lines = (rest + decoder.decode(value, { stream: !done })).split("\n");
		rest = lines.pop() ?? "";
		for (const line of lines) add(line);
		if (done) break;
	}
	add(rest);
	return [...kinds.values()].sort((one, other) => other.lines - one.lines);
}

function kindOf({ response, error }: ErrorLine): { kind: string; message: string } {
	if (!response) return { kind: error?.code ?? "unknown", message: error?.message ?? "" };
	const [first] = response.body.errors ?? [];
	const code = first?.code ?? response.body.error?.code ?? undefined;
	return {
		kind: [`HTTP ${response.status_code}`, ...(code === undefined ? [] : [String(code)])].join(", "),
		message: first?.message ?? response.body.error?.message ?? "",
	};
}
