CREATE OR REPLACE {kind} new_order(p_w integer, p_d integer, p_c integer,
    p_items integer[], p_supplies integer[], p_quantities integer[],
    INOUT p_order integer, INOUT p_total numeric)
LANGUAGE plpgsql AS $$
DECLARE
    v_w_tax numeric;
    v_d_tax numeric;
    v_discount numeric;
    v_lines bigint;
BEGIN
    SELECT w_tax, c_discount INTO v_w_tax, v_discount
    FROM warehouse JOIN customer ON c_w_id = w_id
    WHERE w_id = p_w AND c_d_id = p_d AND c_id = p_c;

    UPDATE district SET d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = p_w AND d_id = p_d
    RETURNING d_next_o_id - 1, d_tax INTO p_order, v_d_tax;

    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (p_order, p_d, p_w, p_c, current_timestamp, cardinality(p_items),
            CASE WHEN p_w = ALL (p_supplies) THEN 1 ELSE 0 END);

    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (p_order, p_d, p_w);

    WITH line AS (
        SELECT number, item, supply, quantity
        FROM unnest(p_items, p_supplies, p_quantities) WITH ORDINALITY AS u (item, supply, quantity, number)
    ), taken AS (
        UPDATE stock SET
            s_quantity = CASE WHEN s_quantity >= quantity + 10 THEN s_quantity - quantity
                              ELSE s_quantity - quantity + 91 END,
            s_ytd = s_ytd + quantity,
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN supply = p_w THEN 0 ELSE 1 END
        FROM line WHERE s_i_id = item AND s_w_id = supply
        RETURNING number, item, supply, quantity,
            CASE p_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                     WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                     WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist_info
    ), ordered AS (
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
                                ol_amount, ol_dist_info)
        SELECT p_order, p_d, p_w, number, item, supply, quantity, quantity * i_price, dist_info
        FROM taken JOIN item ON i_id = item
        RETURNING ol_amount
    )
    SELECT count(*), sum(ol_amount) * (1 - v_discount) * (1 + v_w_tax + v_d_tax) INTO v_lines, p_total
    FROM ordered;

    IF v_lines <> cardinality(p_items) THEN
        {roll_back}
    END IF;
END
$$;
-- next
CREATE OR REPLACE {kind} payment(p_w integer, p_d integer, p_c_w integer, p_c_d integer,
    INOUT p_c integer, p_last varchar, p_amount numeric, INOUT p_balance numeric)
LANGUAGE plpgsql AS $$
DECLARE
    v_w_name varchar;
    v_d_name varchar;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w RETURNING w_name INTO v_w_name;

    UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d
    RETURNING d_name INTO v_d_name;

    IF p_c = 0 THEN
        SELECT c_id INTO p_c FROM (
            SELECT c_id, row_number() OVER (ORDER BY c_first) AS place, count(*) OVER () AS namesakes
            FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last
        ) AS namesake WHERE place = (namesakes + 1) / 2;
    END IF;

    UPDATE customer SET
        c_balance = c_balance - p_amount,
        c_ytd_payment = c_ytd_payment + p_amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE WHEN c_credit = 'BC'
            THEN left(concat_ws(' ', p_c, p_c_d, p_c_w, p_d, p_w, p_amount, c_data), 500) ELSE c_data END
    WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = p_c
    RETURNING c_balance INTO p_balance;

    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (p_c, p_c_d, p_c_w, p_d, p_w, current_timestamp, p_amount, v_w_name || '    ' || v_d_name);
END
$$;
-- next
CREATE OR REPLACE {kind} delivery(p_w integer, p_carrier integer, INOUT p_delivered integer)
LANGUAGE plpgsql AS $$
DECLARE
    v_d integer;
    v_order integer;
    v_c integer;
    v_total numeric;
BEGIN
    p_delivered := 0;
    FOR v_d IN 1 .. 10 LOOP
        DELETE FROM new_order
        WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = (
            SELECT no_o_id FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d ORDER BY no_o_id LIMIT 1)
        RETURNING no_o_id INTO v_order;
        CONTINUE WHEN v_order IS NULL;

        UPDATE orders SET o_carrier_id = p_carrier
        WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_order
        RETURNING o_c_id INTO v_c;

        WITH delivered AS (
            UPDATE order_line SET ol_delivery_d = current_timestamp
            WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order
            RETURNING ol_amount
        )
        SELECT sum(ol_amount) INTO v_total FROM delivered;

        UPDATE customer SET c_balance = c_balance + v_total, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_c;
        p_delivered := p_delivered + 1;
    END LOOP;
END
$$;
-- next
CREATE OR REPLACE {kind} stock_level(p_w integer, p_d integer, p_threshold integer, INOUT p_low bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_next integer;
BEGIN
    SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = p_w AND d_id = p_d;

    SELECT count(DISTINCT s_i_id) INTO p_low
    FROM order_line JOIN stock ON s_i_id = ol_i_id
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id >= v_next - 20 AND ol_o_id < v_next
        AND s_w_id = p_w AND s_quantity < p_threshold;
END
$$;
-- next
CREATE OR REPLACE {kind} order_status(p_w integer, p_d integer, INOUT p_c integer, p_last varchar,
    INOUT p_order integer, INOUT p_lines bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_balance numeric;
    v_carrier integer;
    v_line record;
BEGIN
    IF p_c = 0 THEN
        SELECT c_id INTO p_c FROM (
            SELECT c_id, row_number() OVER (ORDER BY c_first) AS place, count(*) OVER () AS namesakes
            FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last
        ) AS namesake WHERE place = (namesakes + 1) / 2;
    END IF;
    SELECT c_balance INTO v_balance FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;

    SELECT o_id, o_carrier_id INTO p_order, v_carrier FROM orders
    WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = p_c ORDER BY o_id DESC LIMIT 1;

    p_lines := 0;
    FOR v_line IN
        SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
        WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = p_order
    LOOP
        p_lines := p_lines + 1;
    END LOOP;
END
$$;
