import { CopyButton } from "./copy-button.tsx";

interface Props {
	label: string;
	text: string;
	/** Long lines are broken, not scrolled. */
	wraps?: boolean;
}

/** Preformatted text with a button that copies it. */
export function Code({ label, text, wraps = false }: Props) {
	return (
		<div className={wraps ? "code wraps" : "code"}>
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it. */}
			<section className="code-text" tabIndex={0} aria-label={label}>
				<pre>{text}</pre>
			</section>
			<CopyButton label={`Copy ${label}`} text={text} />
		</div>
	);
}
