import { lazy, Suspense, useDeferredValue } from "react";

const Markdown = lazy(() => import("./markdown.tsx"));

/** The text of a model. JSON is not Markdown, and keeps its form. */
export function AnswerText({ text, raw }: { text: string; raw: boolean }) {
	// The rest of the page does not wait for a long text that is still arriving.
	const shown = useDeferredValue(text);
	if (raw || isJson(text)) return <p>{text}</p>;
	return (
		<Suspense fallback={<p>{shown}</p>}>
			<Markdown text={shown} />
		</Suspense>
	);
}

/** Also of JSON that is still arriving. */
const isJson = (text: string): boolean => /^\s*(?:\{\s*"|\[\s*[{"\d])/.test(text);
