
ï/device:TPU:0#Stepsè"
À–±"À–±À–±XLA Modulesè"À¨¥NXLA Opsè"€’ô"À„="
À„=€‰z"À–±À„="€›î€‰z"ÀŸ«Async XLA Opsè"€¤è"%while.1 = ..."while.1"#%fusion.2 = f32[]"fusion.2"%dot.3 = f32[]"dot.3"%copy.4 = f32"copy.4"%tok.5"tok.5"%async.6"async.6"	

0"	1"jit_step*correlation_id*kernel_details*memcpy_details*group_id*
hlo_op*	dot.1*step_num*	u*			d*	

s*	b*memset_details