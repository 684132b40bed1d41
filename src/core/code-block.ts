/** Code blocks of Markdown, in which models write JSON. */
const FENCE = "```";

/** The content, if the text is one code block, with or without a language. */
export function codeBlockIn(text: string): string | undefined {
	const trimmed = text.trim();
	if (trimmed.length < 2 * FENCE.length || !trimmed.startsWith(FENCE) || !trimmed.endsWith(FENCE))
		return undefined;
	return trimmed.slice(FENCE.length, -FENCE.length).replace(/^\w*/, "").trim();
}
