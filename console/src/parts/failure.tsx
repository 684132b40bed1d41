import { Banner } from "@cloudflare/kumo/components/banner";
import { Button } from "@cloudflare/kumo/components/button";
import { Loader } from "@cloudflare/kumo/components/loader";
import { useEffect, useRef } from "react";
import { ApiError } from "../api/client.ts";
import { content, focusIfLost } from "./focus.ts";

interface Props {
	error: Error;
	/** Absent: another attempt is not possible here. */
	onRetry?: (() => void) | undefined;
	/** The next attempt is in progress. */
	retrying?: boolean;
}

const WAIT = " Wait a moment, then try again.";
/** By code. Other messages say what to do. */
const HINTS: Readonly<Record<number, string>> = {
	2003: WAIT,
	3021: WAIT,
	3040: WAIT,
	10000: " Sign in with another token.",
};

export function Failure({ error, onRetry, retrying = false }: Props) {
	const { status, code = 0 } = error instanceof ApiError ? error : { status: 0 };
	const alert = useRef<HTMLDivElement>(null);
	const isOfLoad = onRetry !== undefined;
	// The button disappears with the message. A failure without one is that of a form, which keeps the focus.
	useEffect(() => (isOfLoad ? () => focusIfLost(content()) : undefined), [isOfLoad]);
	// The button that was pressed may be far below: at the end of a form or of a long table.
	useEffect(() => {
		if (error && !isOfLoad) alert.current?.scrollIntoView({ block: "nearest" });
	}, [error, isOfLoad]);
	return (
		<div ref={alert} role="alert" className="failure">
			<FailureBanner text={withPoint(plain(error.message)) + (HINTS[code] ?? "")} />
			{onRetry && status !== 403 && (
				<Button size="sm" onClick={onRetry} icon={retrying ? <Loader size={14} /> : undefined}>
					Try again
				</Button>
			)}
		</div>
	);
}

export const FailureBanner = ({ text }: { text: string }) => (
	<Banner variant="error" description={withPoint(plain(text))} />
);

/** Without the names of errors that the wire formats of models put in front. */
const plain = (text: string): string => text.replace(/^(?:AiError: )+/, "");

const withPoint = (text: string): string => (/[.!?…)]$/.test(text) ? text : `${text}.`);
