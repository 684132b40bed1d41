/**
 * Renders the Markdown of a model. The library makes React elements and inserts no HTML: tags of a model appear as text.
 */
import { isValidElement, memo, type ReactNode } from "react";
import Markdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { Code } from "../parts/code.tsx";
import { Scroll } from "../parts/scroll.tsx";

const PLUGINS = [remarkGfm];

const isWebAddress = (address: string | undefined): address is string => /^https?:\/\//i.test(address ?? "");

/** A model may link to any address of the web, and to none of the console. */
const Link = ({ to, children }: { to: string | undefined; children: ReactNode }) =>
	isWebAddress(to) ? (
		<a href={to} target="_blank" rel="noreferrer">
			{children}
		</a>
	) : (
		children
	);

const COMPONENTS: Components = {
	// The page has a heading of the first level, and its sections of the second.
	h1: "h3",
	h2: "h4",
	h3: "h5",
	h4: "h6",
	h5: "h6",
	a: ({ href, children }) => <Link to={href}>{children}</Link>,
	// An image would send a request, with text of the conversation in its address, before the reader decides.
	img: ({ src, alt }) => <Link to={typeof src === "string" ? src : undefined}>{alt || "Image"}</Link>,
	// A task of a list.
	input: ({ checked }) => (checked ? "☑ " : "☐ "),
	pre: ({ children }) => <Code label="code" text={codeIn(children)} />,
	table: ({ children }) => (
		<Scroll label="Table">
			<table>{children}</table>
		</Scroll>
	),
};

/** A block is a `code` element with a text. */
const codeIn = (block: ReactNode): string =>
	isValidElement<{ children?: ReactNode }>(block) ? String(block.props.children ?? "").trimEnd() : "";

/** Memoized: a conversation renders again for each part of a stream. */
export default memo(({ text }: { text: string }) => (
	<div className="markdown">
		<Markdown remarkPlugins={PLUGINS} components={COMPONENTS}>
			{text}
		</Markdown>
	</div>
));
