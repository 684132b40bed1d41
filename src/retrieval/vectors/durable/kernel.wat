;; The sums of a query with the codes of vectors (codes.ts). kernel.wasm is this text as binary: `npm run kernel` writes it.
;;
;; `sums` writes a float64 at `sums` for each of `count` vectors with `dimensions` codes, one vector after another. A code is an int8. The
;; query has int16 values, and zeros up to a multiple of 16: so the codes that are read beyond the end of a vector add nothing. At most 15
;; bytes beyond the last vector are read. The sums are exact for up to 4,096 dimensions: a lane then adds 512 products, and 512 times 127
;; times 32,767 fits into 32 bits.
(module
	(memory (export "memory") 2)
	(func (export "sums")
		(param $codes i32) (param $count i32) (param $dimensions i32) (param $query i32) (param $sums i32)
		(local $end i32) (local $code i32) (local $value i32) (local $even v128) (local $odd v128) (local $wide v128)
		;; Behind the last value of the query that is read: 2 bytes for each dimension, in steps of 32.
		(local.set $end
			(i32.add (local.get $query)
				(i32.and (i32.add (i32.shl (local.get $dimensions) (i32.const 1)) (i32.const 31)) (i32.const -32))))
		(block $done
			(loop $vector
				(br_if $done (i32.eqz (local.get $count)))
				(local.set $code (local.get $codes))
				(local.set $value (local.get $query))
				(local.set $even (v128.const i32x4 0 0 0 0))
				(local.set $odd (v128.const i32x4 0 0 0 0))
				(loop $step
					(local.set $even
						(i32x4.add (local.get $even)
							(i32x4.dot_i16x8_s
								(v128.load8x8_s (local.get $code))
								(v128.load (local.get $value)))))
					(local.set $odd
						(i32x4.add (local.get $odd)
							(i32x4.dot_i16x8_s
								(v128.load8x8_s offset=8 (local.get $code))
								(v128.load offset=16 (local.get $value)))))
					(local.set $code (i32.add (local.get $code) (i32.const 16)))
					(local.set $value (i32.add (local.get $value) (i32.const 32)))
					(br_if $step (i32.lt_u (local.get $value) (local.get $end))))
				(local.set $wide
					(i64x2.add
						(i64x2.add
							(i64x2.extend_low_i32x4_s (local.get $even))
							(i64x2.extend_high_i32x4_s (local.get $even)))
						(i64x2.add
							(i64x2.extend_low_i32x4_s (local.get $odd))
							(i64x2.extend_high_i32x4_s (local.get $odd)))))
				(f64.store (local.get $sums)
					(f64.convert_i64_s
						(i64.add
							(i64x2.extract_lane 0 (local.get $wide))
							(i64x2.extract_lane 1 (local.get $wide)))))
				(local.set $codes (i32.add (local.get $codes) (local.get $dimensions)))
				(local.set $sums (i32.add (local.get $sums) (i32.const 8)))
				(local.set $count (i32.sub (local.get $count) (i32.const 1)))
				(br $vector)))))
