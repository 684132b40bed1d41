import { Button } from "@cloudflare/kumo/components/button";
import { useEffect, useRef } from "react";
import { focusIfLost } from "./focus.ts";

interface Props {
	/** From 1 on. */
	page: number;
	hasOlder: boolean;
	onPage(page: number): void;
}

/** Buttons to the pages of a list, the latest rows first. Nothing if there is one page. */
export function Pager({ page, hasOlder, onPage }: Props) {
	const buttons = useRef<HTMLDivElement>(null);
	const isUsed = useRef(false);
	const turnTo = (other: number): void => {
		isUsed.current = true;
		onPage(other);
	};
	// The button that was pressed is disabled at the first and the last page.
	// biome-ignore lint/correctness/useExhaustiveDependencies: these disable the buttons.
	useEffect(() => {
		if (isUsed.current) focusIfLost(buttons.current?.querySelector<HTMLElement>("button:enabled"));
	}, [page, hasOlder]);
	if (page === 1 && !hasOlder) return null;
	return (
		<div ref={buttons} className="buttons">
			<Button disabled={page === 1} onClick={() => turnTo(page - 1)}>
				Newer
			</Button>
			<Button disabled={!hasOlder} onClick={() => turnTo(page + 1)}>
				Older
			</Button>
		</div>
	);
}
